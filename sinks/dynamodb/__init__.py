"""DynamoDB: each row an item under its key, for whoever looks documents up by their id.

- ``dynamodb://REGION/PREFIX``: tables ``PREFIXdocuments``, ``PREFIXfetches`` and ``PREFIXdecisions`` (``odradek_``
  without a prefix), made on demand, billed by request. Credentials come from where Amazon's tools look for them, or
  stand as ``KEY:SECRET@`` before the region; ``?endpoint=URL`` is another server.
- The key ``id`` is made of the row's key: ``CRAWL:URL_ID:VISIT``, ``FETCH_ID``, ``DECISION_ID``. An attribute that a
  record does not have is missing; lists are lists, maps are maps, times ISO 8601.
- One conditional put for each row, several at a time: what is there already is replaced by a newer version only.
- An item holds 400 KiB. A document that is larger becomes a dead letter of this store.
- ``errors`` says what an error means for the records.
"""

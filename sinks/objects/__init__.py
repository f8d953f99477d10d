"""Objects: files in a folder, or in a bucket of S3, Google Cloud Storage or Azure.

- ``objects:`` is ``objects`` in the data directory, ``file:///PATH`` another folder, ``s3://BUCKET/PREFIX``,
  ``gs://...`` and ``az://ACCOUNT/CONTAINER/PREFIX`` a bucket; options of the bucket (``region``, ``endpoint``,
  ``access_key_id``, ...) follow as a query, or come from the environment as everywhere else.
- Rows are Parquet, or JSON Lines with ``format=jsonl``. Raw pages (topic ``pages``) are WARC 1.1 with a CDXJ index.
- ``layout``: one object for each write and partition, named by its offsets, in a folder for each window of offsets.
- Once: an object is made by one conditional request (in a folder: written, synced, linked) and never changed. Whoever
  writes looks at the objects that hold some of the same offsets and leaves out the rows that they have, so a replay,
  however it is cut, adds nothing. What producers wrote twice in other places, and older versions of a document, stay:
  readers take of each key the latest version (:mod:`sinks.objects.reading`).
- ``errors`` says what an error means for the records.
"""

"""What travels between the stages: URL identity, records and their Avro contracts.

The room at the bottom of the house. It imports nothing of ours, opens nothing and knows no clock, so a consumer
downstream may use it alone to read any topic.

====================  =================================================================================
``schemas.url``       one WHATWG parser for everything: joining, the canonical form, the host key, the id
``schemas.scope``     which links belong to a crawl
``schemas.orders``    what operators want of running crawls, and what follows from it
``schemas.records``   one pydantic model for each kind of record
``schemas.letters``   the same of dead letters
``schemas.outcomes``  the closed set of fetch outcomes and what each means for a retry
``schemas.wire``      the bytes of a record: Avro single-object encoding, any released version in, newest out
``schemas.avro``      the contracts by hand, one ``.avsc`` for each record; the models are checked against them
====================  =================================================================================
"""

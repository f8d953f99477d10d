"""Streams: seeds become links, pages become documents and links.

The life of one page here: ``stage`` takes a batch of raw records from its agent (:mod:`infra.agents`). ``clean`` undoes
the content codings (:mod:`schemas.codings`), ``media`` reads the declared type, ``charset`` turns bytes into text,
``markup`` finds title, links and robots directives, ``maintext`` the main text of the same tree, by ``blocks`` and
``boilerplate``, ``metadata`` what the page tells about itself: pure functions, the clock passed in. A page that may
cost seconds is cleaned in a process that can be killed (``isolation``).
``outlinks`` resolves the links by the one URL parser, drops what is out of scope or was told to the frontier lately,
and makes one record for each host. Links and document are produced together; when the broker has all of them they count
as told, and the page is acknowledged. What is no page becomes a dead letter; a page that is hard to read never does:
its document says by flags what could not be done as it should.

A page that is a sitemap or a feed is none (``sitemaps``): what it names and is in scope goes to ``links``, with the
order in which it is wanted (``sitemap_links``).

The life of one seed: ``seeds`` reads text, JSON or Avro; its URL in canonical form goes to ``links``.
"""

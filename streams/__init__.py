"""Streams: seeds become links, pages become documents and links.

The life of one page here: ``pages`` takes a batch of raw records from its agent (:mod:`infra.agents`). ``clean`` undoes
the content codings (:mod:`schemas.codings`), ``media`` reads the declared type, ``charset`` turns bytes into text,
``markup`` finds title, links and robots directives, ``maintext`` the main text of the same tree, by ``blocks`` and
``boilerplate``, ``metadata`` what the page tells about itself, ``sites`` what people have said about its site (by
``rules`` and ``cleaners``), ``errorpages`` whether it is a page at all: pure functions, the clock passed in. A page
that may cost seconds, or that rules or foreign cleaners read, is cleaned in a process that can be killed
(``isolation``).
``outlinks`` resolves the links by the one URL parser, drops what is out of scope or was told to the frontier lately,
and makes one record for each host. ``copies`` marks a text that another page had, ``changes`` tells what differs from
the former version, which ``versions`` remembers. All of it is produced together (``delivery``); when the broker has it
the links count as told, and the page is acknowledged. What is no page becomes a dead letter; a page that is hard to
read never does: its document says by flags what could not be done as it should.

``replay`` does the same to pages that are stored, for documents alone.

The life of one seed: ``seeds`` reads text, JSON or Avro; its URL in canonical form goes to ``links``.
"""

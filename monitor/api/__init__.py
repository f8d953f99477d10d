"""What is known, as JSON, and the handles: one table of endpoints that the server, the guard and OpenAPI all read.

``endpoints`` is the table. An endpoint names its question and its answer as models (``questions``, ``answers``); its
function is in ``reading`` or ``changing`` and knows nothing of HTTP. ``guard`` decides who may ask, ``server`` is the
HTTP around it, ``openapi`` the description of it all.
"""

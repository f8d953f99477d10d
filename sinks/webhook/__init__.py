"""A webhook: rows posted to somebody's server, signed, each delivery with a name of its own.

- ``webhook+https://HOST/PATH?secret=whsec_...``; user and password become basic authentication, other options stay in
  the URL that is called. ``webhook+http`` only where the way is trusted.
- The form is that of Standard Webhooks 1.0 (standardwebhooks.com), for which receivers exist in most languages:
  ``deliveries`` makes the requests, ``signing`` their signatures. Pure, both.
- At least once: a delivery that was not confirmed is made again with the same ``webhook-id``. After a replay that is
  cut otherwise the same rows come in other deliveries; their keys fold them.
- ``answers`` says what an answer means for the records: 2xx is taken, 400, 413 and 422 speak against a row, all others
  wait, as long as ``Retry-After`` says.
"""

"""Per-site extraction rules: data that says which element of whose pages is which field.

The life of a rule: ``source`` reads the file or folder that the settings name, and again when it changes; ``reading``
turns its TOML into ``model``, or says what is wrong, in which line; ``compiled`` makes selectors and transforms ready,
once for each version of the rules; ``apply`` finds the values in one page's tree, ``values`` gives them their types.
All but ``source`` is pure. A set of rules is taken whole or not at all, and its version stands in every document.
"""

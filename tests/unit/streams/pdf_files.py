"""PDF files for the tests, written by hand (ISO 32000-1, 7.5)."""

from collections.abc import Mapping, Sequence


def pdf(
    pages: Sequence[Sequence[str]], info: Mapping[str, str] | None = None, link: str = "", outline: str = ""
) -> bytes:
    """A file with a line of text for each string, an information dictionary, a link on each page and an outline."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    catalog, tree = add(b""), add(b"")
    font = add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
    about = "".join(f"/{name}({value})" for name, value in (info or {}).items())
    told = add(f"<<{about}>>".encode("latin-1"))
    kids: list[int] = []
    for lines in pages:
        shown = "".join(f"1 0 0 1 40 {780 - 14 * n} Tm ({line}) Tj\n" for n, line in enumerate(lines))
        stream = f"BT /F 11 Tf\n{shown}ET".encode("cp1252")
        content = add(b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream))
        annotation = f"/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({link})>>>>]" if link else ""
        kids.append(
            add(
                f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 595 842]/Contents {content} 0 R"
                f"/Resources<</Font<</F {font} 0 R>>>>{annotation}>>".encode()
            )
        )
    marks = ""
    if outline:
        root = len(objects) + 1
        add(f"<</Type/Outlines/First {root + 1} 0 R/Last {root + 1} 0 R/Count 1>>".encode())
        add(f"<</Title({outline})/Parent {root} 0 R/Dest[{kids[0]} 0 R/Fit]>>".encode())
        marks = f"/Outlines {root} 0 R"
    objects[catalog - 1] = f"<</Type/Catalog/Pages {tree} 0 R{marks}>>".encode()
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree - 1] = f"<</Type/Pages/Kids[{listed}]/Count {len(kids)}>>".encode()
    return _file(objects, catalog, told)


def _file(objects: Sequence[bytes], catalog: int, info: int) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<</Size %d/Root %d 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        catalog,
        info,
        start,
    )
    return bytes(out)

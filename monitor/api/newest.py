"""The endpoints that show the newest records: documents and dead letters."""

from monitor.api import answers, questions
from monitor.api.desk import Desk
from monitor.letters import Letter
from schemas.records import Document
from schemas.wire import Undecodable, decode

TEXT_CHARACTERS = 4_000
VALUE_BYTES = 2_000


async def documents(desk: Desk, question: questions.DocumentsWanted) -> answers.Documents:
    """The newest documents with the beginning of their text; of the last hundred of each partition."""
    search = question.search.strip().lower()
    found: list[answers.DocumentShown] = []
    for record in reversed(await desk.documents.records()):
        try:
            document = decode(Document, record.value)
        except Undecodable:
            continue
        if search in document.url.lower() or search in (document.title or "").lower():
            found.append(_document(document))
            if len(found) == question.limit:
                break
    return answers.Documents(documents=found)


def _document(document: Document) -> answers.DocumentShown:
    return answers.DocumentShown(
        url=document.url,
        crawl=document.crawl,
        host=document.host,
        title=document.title,
        language=document.language,
        status=document.status,
        depth=document.depth,
        words=document.words,
        links=len(document.links),
        flags=document.flags,
        fetched_at=document.fetched_at,
        cleaned_at=document.cleaned_at,
        text=document.text[:TEXT_CHARACTERS],
        text_cut=len(document.text) > TEXT_CHARACTERS,
    )


async def dead_letters(desk: Desk, question: questions.LettersWanted) -> answers.DeadLetters:
    """The newest dead letters, and how many there were of each kind."""
    kinds = [
        answers.LetterKind(stage=stage, topic=topic, reason=reason, count=count)
        for (stage, topic, reason), count in desk.letters.by_kind.most_common()
    ]
    wanted = [each for each in desk.letters.newest(1_000) if question.topic in ("", each.letter.topic)]
    return answers.DeadLetters(kinds=kinds, letters=[_letter(each) for each in wanted[: question.limit]])


def _letter(found: Letter) -> answers.LetterShown:
    letter = found.letter
    value = letter.value
    return answers.LetterShown(
        letter_id=letter.letter_id,
        stage=letter.stage,
        reason=letter.reason,
        error=letter.error,
        topic=letter.topic,
        partition=letter.partition,
        offset=letter.offset,
        at=letter.at,
        key=None if letter.key is None else letter.key[:VALUE_BYTES].decode("utf-8", "replace"),
        value=None if value is None else value[:VALUE_BYTES].decode("utf-8", "replace"),
        value_bytes=None if value is None else len(value),
    )

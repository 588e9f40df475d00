"""How does a question set become a new sealed bundle?

Everything that can be refused is refused before the first call. Then: ask, journal, and only when every answer is in,
write, seal and move the bundle to its place.
"""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from plumbline.audit.provenance import harness_source_sha256
from plumbline.canonical import canonical_json, canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Adapter, CallError
from plumbline.record.authorisation import reasons, require
from plumbline.record.config import RecordingConfig
from plumbline.record.journal import Header, Journal, refuse_another
from plumbline.record.place import Workplace, refuse_complete, refuse_place
from plumbline.record.questions import QuestionSet, Shard, refuse_too_many
from plumbline.record.session import Clock, Pacing, RealClock, Session, Task, Watcher
from plumbline.record.writing import (
    Tally,
    manifest_bytes,
    recording_block,
    refuse_secrets,
    response_line,
    write_bundle,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line adds to the configuration. None leaves the choice to an unfinished recording."""

    out: Path
    overwrite: bool = False
    synthetic: bool = False
    note: str | None = None
    passes: int | None = None
    resume: bool = False
    restart: bool = False
    shard: Shard | None = None
    connections: int | None = None
    production_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of it."""

    out: Path
    sha256: str
    """The new dataset hash."""
    items: int
    passes: int
    empty: int
    """How many answers are missing or empty."""
    recorded_at: str
    shard: str | None
    synthetic: bool


WatcherFactory = Callable[[int, int], Watcher]
"""Given the number of answers wanted and of those already there."""


def refuse_unfit(config: RecordingConfig, adapter: Adapter, questions: QuestionSet, options: Options) -> None:
    """Refuse what must not be asked, before anything is sent.

    Raises:
        ConfigurationError: too many items, no permission, or turns that the transport cannot ask.
    """
    refuse_too_many(questions, config.settings.max_items)
    why = reasons(questions.items, questions.calls(options.passes or 1))
    require(config.authorisation, why, production_confirmed=options.production_confirmed)
    talking = [item.id for item in questions.items if item.turns]
    if talking and not adapter.conversational:
        raise ConfigurationError(
            f"{config.file}: {len(talking)} items have turns ({talking[0]} is the first), and [adapter] does not say "
            "how a second turn belongs to the first",
            remedy='Put "{history}" or "{conversation}" into the template, or keep one child (mode = "lines").',
        )
    if options.shard is not None and not questions.positions(options.shard):
        raise ConfigurationError(f"--shard {options.shard}: there are only {len(questions.items)} items")


def record(
    config: RecordingConfig,
    adapter: Adapter,
    questions: QuestionSet,
    options: Options,
    watch: WatcherFactory,
    *,
    stop: threading.Event | None = None,
    clock: Clock | None = None,
) -> Recorded:
    """Ask everything and write the bundle.

    Args:
        config: who is asked, and how.
        adapter: the same, ready to be asked; closed when this returns.
        questions: what is asked.
        options: what the command line adds.
        watch: makes whoever shows progress.
        stop: set from outside to bring the run to an end.
        clock: where the session's time comes from.

    Raises:
        CallError: the target failed, and `on_error` is `abort`.
        ConfigurationError: something is refused, or the run was stopped; what was answered is kept for `--resume`.
    """
    refuse_unfit(config, adapter, questions, options)
    if options.resume:
        refuse_complete(options.out, config.target, questions.sha256)
    refuse_place(options.out, [config.questions, config.path], overwrite=options.overwrite)
    run = _Run(config, adapter, questions, options, Workplace(options.out))
    with run.place.held():
        with run.journal() as journal:
            shard = None if journal.header.shard is None else Shard.parse(journal.header.shard)
            positions = questions.positions(shard)
            wanted = len(positions) * journal.header.passes
            session = Session(
                adapter=adapter,
                pacing=run.pacing(),
                secrets=config.secrets,
                watcher=watch(wanted, len(journal)),
                stop=stop or threading.Event(),
                clock=clock or RealClock(),
            )
            try:
                run.ask(session, journal, _tasks(questions, positions, journal), wanted)
                recorded = run.compose(journal, positions)
            except OSError as fault:
                raise ConfigurationError(
                    f"{fault.filename or options.out}: {fault.strerror or type(fault).__name__}; no bundle was written",
                    remedy=run.kept(journal, wanted),
                ) from None
        run.place.publish(overwrite=options.overwrite)
    return recorded


@dataclass(frozen=True, slots=True)
class _Run:
    config: RecordingConfig
    adapter: Adapter
    questions: QuestionSet
    options: Options
    place: Workplace

    def pacing(self) -> Pacing:
        settings = self.config.settings
        return Pacing(
            connections=self.options.connections or settings.connections,
            min_interval=settings.min_interval_seconds,
            retries=getattr(settings, "retries", 0),
            retry_delay=getattr(settings, "retry_delay_seconds", 0.0),
            go_on=settings.on_error == "record_empty",
        )

    def journal(self) -> Journal:
        """A new journal, or the one that is to be taken up."""
        wanted = self._header()
        found = None if self.options.restart else Journal.reopen(self.place.journal)
        if found is None:
            if self.options.resume:
                raise ConfigurationError(
                    f"{self.options.out}: there is no unfinished recording to take up",
                    remedy="Leave --resume away to begin.",
                )
            return Journal.create(self.place.journal, wanted)
        try:
            self._refuse_to_go_on(found, wanted)
        except BaseException:
            found.close()
            raise
        if not self.options.resume:
            found.close()
            return Journal.create(self.place.journal, wanted)
        return found

    def _header(self) -> Header:
        options, described = self.options, dict(self.adapter.describe())
        header = Header(
            started_at=utc_now(),
            target=self.config.target,
            questions_sha256=self.questions.sha256,
            adapter_sha256=canonical_sha256(described),
            request_sha256=described["request_sha256"],
            harness_source_sha256=harness_source_sha256(),
            on_error=self.config.settings.on_error,
            passes=options.passes or 1,
            shard=None if options.shard is None else str(options.shard),
            authorisation=None if self.config.authorisation is None else self.config.authorisation.stated(),
            synthetic=options.synthetic,
            note=options.note,
        )
        # Before anything is asked: the journal and the manifest will hold this.
        refuse_secrets(self.config.secrets, [msgspec.json.encode(header), canonical_json(described)])
        return header

    def _refuse_to_go_on(self, found: Journal, wanted: Header) -> None:
        options, header = self.options, found.header
        if not options.resume:
            if len(found):
                raise ConfigurationError(
                    f"{options.out}: an unfinished recording of this place has {len(found)} answers",
                    remedy="Add --resume to go on with it, or --restart to drop them and begin anew.",
                )
            return
        # What the command line leaves open is as it was when the recording began.
        wanted = msgspec.structs.replace(
            wanted,
            passes=header.passes if options.passes is None else wanted.passes,
            shard=header.shard if options.shard is None else wanted.shard,
            synthetic=wanted.synthetic or header.synthetic,
            note=header.note if options.note is None else wanted.note,
        )
        refuse_another(header, wanted)
        # Volume is judged by what is really asked, also where --passes was left to the journal.
        refuse_unfit(self.config, self.adapter, self.questions, replace(options, passes=header.passes))

    def ask(self, session: Session, journal: Journal, tasks: list[Task], wanted: int) -> None:
        """Ask what the journal does not have yet."""
        try:
            session.run(tasks, journal.append)
        except CallError as fault:
            fault.remedy = " ".join(filter(None, (fault.remedy, self.kept(journal, wanted))))
            raise
        if len(journal) < wanted:
            raise ConfigurationError("interrupted; no bundle was written", remedy=self.kept(journal, wanted))

    def kept(self, journal: Journal, wanted: int) -> str:
        """What a run that stopped leaves, and what to do about it."""
        if not len(journal):
            self.place.drop()
            return "Nothing was answered, and nothing is kept."
        return f"{len(journal)} of {wanted} answers are kept: add --resume to go on, or --restart to drop them."

    def compose(self, journal: Journal, positions: list[int]) -> Recorded:
        """Write and seal the bundle in the hidden folder."""
        tally, recorded_at, header = Tally(), utc_now(), journal.header

        def answers() -> Iterator[bytes]:
            for passes in journal.entries(positions):
                tally.add(passes)
                yield response_line(passes)

        def manifest() -> bytes:
            block = recording_block(
                header,
                self.questions,
                tally,
                recorded_at=recorded_at,
                adapter=self.adapter.describe(),
                bounds=self._bounds(),
            )
            data = manifest_bytes(self.questions, block, synthetic=header.synthetic, whole=header.shard is None)
            refuse_secrets(self.config.secrets, [data])
            return data

        sha256 = write_bundle(self.place.clear_bundle(), self.questions.carried, answers(), manifest)
        return Recorded(
            out=self.options.out,
            sha256=sha256,
            items=tally.records,
            passes=header.passes,
            empty=len(tally.empty),
            recorded_at=recorded_at,
            shard=header.shard,
            synthetic=header.synthetic,
        )

    def _bounds(self) -> dict[str, object]:
        settings = self.config.settings
        return {
            "max_items": settings.max_items,
            "min_interval_seconds": settings.min_interval_seconds,
            "connections": self.options.connections or settings.connections,
            "on_error": settings.on_error,
        }


def _tasks(questions: QuestionSet, positions: list[int], journal: Journal) -> list[Task]:
    return [
        Task(position, number, questions.question(position))
        for number in range(1, journal.header.passes + 1)
        for position in positions
        if (position, number) not in journal
    ]


def utc_now() -> str:
    """The time, UTC, to the second, as manifests state it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")

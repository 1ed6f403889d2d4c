"""`callscore redact`: replace personal data in files."""

from __future__ import annotations

from pathlib import Path

import click

from callscore.cli.console import say


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder to write to."
)
@click.option("--kinds", default="", help="Only these, separated by commas: email,phone,card …")
@click.option(
    "--names", type=click.Path(path_type=Path), help="A file of names to replace, one per line."
)
@click.option("--name-model", help="A spaCy pipeline that finds more names (extra `names`).")
@click.option("--regions", default="", help="Countries of telephone numbers: US,GB,IN …")
@click.option("--report", type=click.Path(path_type=Path), help="Write the counts as JSON.")
def redact(
    files: tuple[Path, ...],
    out: Path,
    kinds: str,
    names: Path | None,
    name_model: str | None,
    regions: str,
    report: Path | None,
) -> None:
    """Replace personal data in case, output and verdict files with placeholders.

    Pass the case files first: outputs and verdicts then get the placeholders of their call. The
    same number gets the same placeholder, however it is written. Replaced text is counted and
    never printed.
    """
    import msgspec

    from callscore.config.redaction import RedactOptions, check_kinds, read_names, redact_files
    from callscore.privacy.finder import REGIONS
    from callscore.store.files import atomic_write

    options = RedactOptions(
        check_kinds([kind for kind in kinds.split(",") if kind]),
        read_names(names) if names is not None else (),
        [region.strip().upper() for region in regions.split(",") if region] or REGIONS,
        name_model,
    )
    written, found = redact_files(files, out, options)
    for line in found.lines():
        say(line)
    for note in options.notes():
        say(f"note: {note}")
    for path in written:
        say(str(path))
    if report is not None:
        with atomic_write(report) as file:
            file.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")

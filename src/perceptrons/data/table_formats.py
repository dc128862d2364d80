"""The table formats by name, with the part of the reader that each needs."""

from perceptrons.data.table_columns import TableFormat


def table_format(format: str) -> TableFormat:
    """The format's own part of the reader."""
    if format in ("csv", "tsv"):
        from perceptrons.data.csv import CsvTable

        return CsvTable(format == "tsv")
    if format == "whitespace":
        from perceptrons.data.whitespace import WhitespaceTable

        return WhitespaceTable()
    if format == "arff":
        from perceptrons.data.arff import ArffTable

        return ArffTable()
    if format == "xlsx":
        from perceptrons.data.xlsx import XlsxTable

        return XlsxTable()
    if format in ("frame", "records"):
        from perceptrons.data.records import FrameTable, RecordTable

        return FrameTable() if format == "frame" else RecordTable()
    if format not in ("jsonl", "parquet", "arrow"):
        from perceptrons.data import TABLES

        raise ValueError(f"format={format!r}: choose one of {', '.join(TABLES)}.")
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        what = f"Files of format {format!r} need the package pyarrow: pip install 'perceptrons[files]'."
        raise ModuleNotFoundError(what) from error
    if format == "jsonl":
        from perceptrons.data.json import JsonTable

        return JsonTable()
    from perceptrons.data.arrow import ArrowTable

    return ArrowTable(format)

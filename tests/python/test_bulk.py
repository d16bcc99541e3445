"""Shards that `tamis classify … -o FOLDER/` wrote, read by others: pyarrow, pandas and polars."""

import gzip
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    from conftest import Tamis

    folder, tamis = tmp_path_factory.mktemp("bulk"), Tamis()
    tamis("synth", "-n", "900", folder / "docs.jsonl")
    tamis("fit", folder / "docs.jsonl", "-o", folder / "m.model", "--by", "chi2max", "--features", "200", "--classifier", "svm", "--folds", "0")
    return folder, tamis, [json.loads(line) for line in (folder / "docs.jsonl").open()]


def frame(documents):
    n = len(documents)
    return pd.DataFrame(
        {
            "text": [document["text"] for document in documents],
            "kind": pd.Categorical(["web", "news", "book"][i % 3] for i in range(n)),
            "when": pd.date_range("2024-05-31", periods=n, freq="h", tz="Europe/Paris"),
            "scores": [[i / 3, None, 2.5][: i % 4] for i in range(n)],
            "meta": [{"host": f"h{i % 7}", "depth": i % 5} for i in range(n)],
        },
        index=pd.Index([f"row{i}" for i in range(n)], name="key"),
    )


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "none"])
def test_other_programs_read_the_same_columns(setting, codec):
    folder, tamis, documents = setting
    given = frame(documents)
    shard = folder / f"{codec}.parquet"
    given.to_parquet(shard, compression=None if codec == "none" else codec, row_group_size=250)
    tamis("classify", folder / "m.model", shard, "-o", f"{folder}/out-{codec}/", "--scores")
    # pandas finds its own index, categories and time zones again, as it wrote them.
    found = pd.read_parquet(folder / f"out-{codec}" / shard.name)
    pd.testing.assert_frame_equal(found[given.columns], pd.read_parquet(shard))
    assert found.index.name == "key"
    answers = tamis.lines("classify", folder / "m.model", shard, "--scores")
    assert [list(labels) for labels in found["tamis_labels"]] == [answer["labels"] for answer in answers]
    assert [list(scores) for scores in found["tamis_scores"]] == [[r["score"] for r in answer["ranked"]] for answer in answers]
    assert pl.read_parquet(folder / f"out-{codec}" / shard.name)["tamis_labels"].to_list() == [answer["labels"] for answer in answers]
    before, after = pq.ParquetFile(shard).metadata, pq.ParquetFile(folder / f"out-{codec}" / shard.name).metadata
    assert [after.row_group(g).num_rows for g in range(after.num_row_groups)] == [250, 250, 250, 150]
    # Copied as they lay: to the byte as long, and compressed alike.
    for column in range(before.num_columns):
        a, b = before.row_group(1).column(column), after.row_group(1).column(column)
        assert (a.total_compressed_size, a.compression, a.encodings) == (b.total_compressed_size, b.compression, b.encodings)


def test_rows_that_are_kept(setting):
    folder, tamis, documents = setting
    shard = folder / "keep.parquet"
    frame(documents).to_parquet(shard, row_group_size=300)
    label = documents[0]["labels"][0]
    tamis("classify", folder / "m.model", shard, "-o", f"{folder}/all/", "--only-score", label)
    tamis("classify", folder / "m.model", shard, "-o", f"{folder}/kept/", "--only-score", label, "--keep", "score > -0.8")
    every, kept = pd.read_parquet(folder / "all/keep.parquet"), pd.read_parquet(folder / "kept/keep.parquet")
    expected = every[every["tamis_score"] > -0.8]
    assert 0 < len(expected) < len(every)
    # Written anew, categories are numbered as they come.
    assert kept["kind"].dtype == "category"
    pd.testing.assert_frame_equal(kept.astype({"kind": str}), expected.astype({"kind": str}))


def test_compressed_lines(setting):
    folder, tamis, documents = setting
    # More than one block, so that the file has several members.
    lines = [json.dumps(document) for document in documents for _ in range(4)]
    with gzip.open(folder / "lines.jsonl.gz", "wt") as file:
        file.write("\n".join(lines))
    tamis("classify", folder / "m.model", folder / "lines.jsonl.gz", "-o", f"{folder}/lines/")
    with gzip.open(folder / "lines/lines.jsonl.gz", "rt") as file:
        found = [json.loads(line) for line in file]
    for row in found:
        assert row.pop("tamis_labels") is not None
        assert row.pop("tamis_known") in (True, False)
    assert found == [json.loads(line) for line in lines]


def test_a_column_of_views_and_large_strings(setting):
    folder, tamis, documents = setting
    texts = [document["text"] for document in documents]
    for name, kind in (("large", pa.large_string()), ("views", pa.string_view()), ("categories", pa.dictionary(pa.int32(), pa.string()))):
        table = pa.table({"text": pa.array(texts).cast(kind) if name != "categories" else pa.array(texts).dictionary_encode()})
        pq.write_table(table, folder / f"{name}.parquet")
        tamis("classify", folder / "m.model", folder / f"{name}.parquet", "-o", f"{folder}/kinds/")
        found = pq.read_table(folder / f"kinds/{name}.parquet")
        assert found.select(["text"]).equals(table)
        assert found.column("tamis_labels").null_count == 0

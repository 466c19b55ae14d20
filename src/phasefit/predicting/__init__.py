"""Predict and embed in shards: any number of rows with constant memory, resumed after a kill.

`inputs` finds the input files (`remote` those of other file systems), `plan` reads each once and cuts it into `shards`,
`manifest` describes the work in the output folder, `readers` read the rows of a shard, `worker` turns a shard into its
output with `columns` and `writers`, `engine` and `ray_engine` run workers, `merge` makes one file of all shards, and
`run` does all of it. A shard is a pure function of the model, the shard and the options, so that any engine may run it,
in any order.

May import runs and everything to the left of it; pandas, pyarrow and fsspec only inside functions.
"""

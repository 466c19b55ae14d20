"""The HTTP server of `phasefit serve`: models in the wire formats of vLLM, OpenAI and text-embeddings-inference.

A request is read and checked on the event loop, waits in a bounded queue, and is computed in batches by one worker
thread. `loading` loads models, `engines` runs them, `batcher` holds queue and worker, `wire` holds the formats, `app`
connects them to FastAPI and `server` runs them with uvicorn.

May import everything except cli.
"""

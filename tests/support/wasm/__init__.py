"""The tests on Python 3.14, in WebAssembly: `python -m tests.support.wasm`."""

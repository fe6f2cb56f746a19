"""Failures of SDKs against servers that fail; `nox -s sdks` installs the SDKs and runs this folder.

Other runs do not collect it: see `norecursedirs` in `pyproject.toml`.
"""

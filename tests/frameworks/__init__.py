"""The recipes for frameworks; `nox -s frameworks` installs the frameworks and runs this folder.

Other runs do not collect it: see `norecursedirs` in `pyproject.toml`.
"""

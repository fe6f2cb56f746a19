"""The layers of retries in a code base, which is read and never imported: `ixbackoff audit`."""

"""One request between two machines: what asker and worker say to each other, and how long each waits."""

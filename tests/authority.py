"""Certificates for tests with TLS."""

import subprocess
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
# Python 3.13 and later look at what a certificate may be used for.
_SIGNS = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")


class Authority:
    """A company's own authority, which signs certificates for servers and machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = folder / "ca.pem"
        self._run("req", "-x509", *_KEY, "-days", "1", "-subj", "/CN=authority", *_SIGNS, *self._files("ca"))

    def certificate(self, name: str) -> tuple[str, str]:
        """A certificate for 127.0.0.1, and its key."""
        request, more = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        more.write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
        key, pem = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        self._run("req", *_KEY, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
        signer = ("-CA", str(self.ca), "-CAkey", str(self.folder / "ca.key"), "-CAcreateserial")
        self._run("x509", "-req", "-in", str(request), *signer, "-days", "1", "-extfile", str(more), "-out", str(pem))
        return str(pem), str(key)

    def _files(self, name: str) -> tuple[str, ...]:
        return "-keyout", str(self.folder / f"{name}.key"), "-out", str(self.folder / f"{name}.pem")

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True)

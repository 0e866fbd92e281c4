"""A TLS server with a certificate of its own making."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from support.servers.served import Served


class SecureServer(Served):
    """Answers every request with 404; `requests` counts what got through the handshake."""

    def __init__(
        self, folder: Path, *names: str, ended: bool = False, early: bool = False, issued: bool = False
    ) -> None:
        """`ended`, `early`: the certificate is no longer good, or not yet; `issued`: by another, not by itself."""
        self.ca_file = _certificate(folder, names or ("localhost",), ended, early, issued)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file, folder / "key.pem")
        super().__init__(context)
        self.requests = 0

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()


class SecureFront(SecureServer):
    """TLS before a real server on loopback; `hosts` are the names it was asked by."""

    def __init__(self, folder: Path, server: str, *names: str) -> None:
        super().__init__(folder, *names)
        self._behind = urlsplit(server)
        self.hosts: list[str] = []

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection; the server behind knows the names, at its own port only."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        lines = head.decode("latin-1").split("\r\n")[:-2]
        for at, line in enumerate(lines):
            name, _, value = line.partition(":")
            if name.lower() == "host":
                self.hosts.append(value.strip().rpartition(":")[0])
                lines[at] = f"Host: {self.hosts[-1]}:{self._behind.port}"
        lines = [line for line in lines if not line.lower().startswith("connection:")]
        behind, out = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        try:
            out.write("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
            sending = asyncio.ensure_future(_pour(reader, out))
            try:
                await _pour(behind, writer)
            finally:
                sending.cancel()
        finally:
            out.close()


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()


def _certificate(folder: Path, names: Sequence[str], ended: bool, early: bool, issued: bool) -> Path:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "An authority")]) if issued else subject
    now = datetime.now(UTC)
    public = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(hours=12 if early else -48))
        .not_valid_after(now + timedelta(days=-1 if ended else 1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(public, critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()) if issued else key, hashes.SHA256())
    )
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    path = folder / "certificate.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path

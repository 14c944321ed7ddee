"""What the environment says of proxies and certificates, followed as curl and requests follow it."""

from __future__ import annotations

import os
import re
import ssl
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.request import getproxies, proxy_bypass

import certifi

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.servers.address import ServerAddress, parse_address

BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Each names a file or a folder of certificates that is trusted in place of the system's; the first that is set."""
CERTIFICATES, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"
"""OpenSSL's own: they take the place of the system's file and of its folders."""


def find_proxy(server: ServerAddress) -> ServerAddress | None:
    """The proxy for a server: of HTTP_PROXY or HTTPS_PROXY by its scheme, else of ALL_PROXY, unless NO_PROXY has it."""
    known = getproxies()
    scheme = server.scheme if known.get(server.scheme) else "all"
    text = known.get(scheme)
    if not text or _is_exempt(server, known.get("no", "")):
        return None
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    name = next((name for name in names if os.environ.get(name)), "the system's proxy")
    if re.match(r"(?i)socks", text):
        raise InputError(
            f"Expected {name} to name a proxy of HTTP, but got one of SOCKS, which is not supported.\n"
            f"Remedy: name a proxy of HTTP, or add {server.host} to NO_PROXY where it is reached without one."
        )
    return parse_address(text if "://" in text else f"http://{text}", name)


def _is_exempt(server: ServerAddress, names: str) -> bool:
    """Whether NO_PROXY has a server: its name or a domain above it, its number or a network, perhaps with its port."""
    host = server.host.lower().rstrip(".")
    port = server.port or {"http": 80, "https": 443}[server.scheme]
    for name in filter(None, re.split(r"[,\s]+", names.lower())):
        if name == "*":
            return True
        try:
            network, number = ip_network(name.replace("[", "").replace("]", ""), strict=False), ip_address(host)
        except ValueError:
            pass
        else:
            if number in network:
                return True
        domain = name.removesuffix(f":{port}").strip("[].")
        if domain and (host == domain or host.endswith(f".{domain}")):
            return True
    # Where the proxies are not the environment's but the system's, so are the exceptions.
    return not names and bool(proxy_bypass(server.host))


def trusted_certificates() -> ssl.SSLContext:
    bundle = next((name for name in BUNDLES if os.environ.get(name)), None)
    if bundle:
        return _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), bundle, os.environ[bundle])
    paths = ssl.get_default_verify_paths()
    named = {name: os.environ[name] for name in (CERTIFICATES, FOLDERS) if os.environ.get(name)}
    context = ssl.create_default_context(cafile=None if named or paths.cafile or paths.capath else certifi.where())
    # OpenSSL passes over what is not there.
    for name, value in named.items():
        for place in value.split(os.pathsep) if name == FOLDERS else [value]:
            _load(context, name, place)
    return context


def _load(context: ssl.SSLContext, name: str, place: str) -> ssl.SSLContext:
    path = Path(place).expanduser()
    if not path.exists():
        raise InputError(f"Expected {name} to name a file or folder of certificates, but there is no {path}.")
    try:
        context.load_verify_locations(capath=str(path)) if path.is_dir() else context.load_verify_locations(path)
    except (OSError, ssl.SSLError):
        raise InputError(f"Expected {name} to name a file of certificates, but {path} holds none.") from None
    return context

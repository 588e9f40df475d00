"""Which addresses may a recording talk to?"""

import re
from urllib.parse import SplitResult, urlsplit

from plumbline.errors import ConfigurationError

_REFUSED = re.compile(r"[\x00-\x20\x7f-\xa0\\]")


def check_address(address: str, *, key: str, schemes: tuple[str, ...] = ("http", "https")) -> SplitResult:
    """The parts of an address that a recording may talk to.

    Args:
        address: as configured; braces may stand in its path.
        key: where it stands, for messages: `adapter.endpoint`.
        schemes: what this transport speaks.

    Raises:
        ConfigurationError: another scheme, no host, credentials, a query string, a fragment, or characters that an
            address cannot hold.
    """
    if _REFUSED.search(address):
        raise ConfigurationError(f"{key}: holds a space, a backslash or a control character")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as fault:
        raise ConfigurationError(f"{key}: no valid address: {fault}") from None
    if parts.scheme not in schemes:
        raise ConfigurationError(f"{key}: must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if "@" in parts.netloc:
        raise ConfigurationError(
            f"{key}: holds credentials, which would end up in logs and manifests",
            remedy='Send them as a header whose value is { env = "NAME" }.',
        )
    if not parts.hostname or "{" in parts.netloc or "}" in parts.netloc or port == 0:
        raise ConfigurationError(f"{key}: must name one host, and a placeholder can only stand in the path")
    if parts.query or parts.fragment or address.endswith(("?", "#")):
        raise ConfigurationError(
            f"{key}: holds a query string or a fragment", remedy="Write the query as keys of [adapter.query]."
        )
    return parts

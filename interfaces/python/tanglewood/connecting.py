"""``connect``: a folder, memory, or a server."""

import os

from . import _native
from .errors import InterfaceError


def connect(path=":memory:", **options):
    """Opens the database in a folder, or one in memory, or speaks to a server.

    Of a server (``"bolt://localhost:7687"``) the options are ``user``, ``password``, ``database`` and those of neo4j's driver.

    :param path: a folder (made if it is missing), ``":memory:"``, or an address
    :param create: make the database if the folder is missing or empty (true if not said)
    :param threads: executor threads; one a core if not said
    :param memory: bytes that the graph may hold in memory; no bound if not said
    :param query_memory: bytes that one query may hold; 2 GiB if not said
    :param query_timeout: seconds that one query may run; no limit if not said
    :param import_folder: folder below which LOAD may read
    :param import_urls: hosts of which LOAD may read URLs, such as ``"data.example.org, *.example.com"``; none if not said
    :param backup_folder: folder below which ``CALL dbms.backup`` may write
    """
    text = os.fspath(path)
    if isinstance(text, str) and "://" in text:
        from . import bolt

        if bolt.is_address(text):
            return bolt.BoltDatabase(text, **options)
        raise InterfaceError(
            "connect knows no %s" % text.split("://")[0] + "://",
            code="Tanglewood.ClientError.Interface.Scheme",
            hint="give a folder, :memory:, or the address of a server: bolt://host:7687",
        )
    return _native.open(path, **options)

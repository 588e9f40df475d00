import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
import time

import pytest

from plumbline.github.rest import Answer, ApiError, Client, Patience
from tests.fake_github import FakeGithub, Fault

ROOT = "/repos/acme/widgets"


def test_patience_sleeps_within_its_budget_only(clock):
    patience = Patience(10, clock=clock.now, sleep=clock.sleep)
    assert patience.wait(4)
    assert patience.wait(0)
    assert patience.wait(-1)
    assert not patience.wait(6)
    assert not patience.spent
    assert patience.wait(5)
    assert clock.slept == [4, 5]
    clock.sleep(1)
    assert patience.spent


def test_no_request_begins_after_the_budget(fake, client, clock):
    github = fake()
    one = client(github)
    clock.sleep(90)
    with pytest.raises(ApiError, match="used up"):
        one.once("GET", f"{ROOT}/pulls/7")
    assert github.journal == []


def test_two_writes_are_a_second_apart_and_reads_are_not(fake, client, clock):
    one = client(fake())
    for _ in range(2):
        one.once("GET", f"{ROOT}/pulls/7")
    assert clock.slept == []
    for _ in range(2):
        one.once("POST", f"{ROOT}/issues/7/comments", body={"body": "x"})
    assert clock.slept == [1.0]
    clock.sleep(5)
    one.once("POST", f"{ROOT}/issues/7/comments", body={"body": "x"})
    assert clock.slept == [1.0, 5]


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        (
            {
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": "1767225630",
                "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            31.0,
        ),
        (
            {
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": "1767225000",
                "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            1.0,
        ),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225630", "Date": "no date"}, 60.0),
        ({"X-RateLimit-Remaining": "0"}, 60.0),
        ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1767225630", "Retry-After": "7"}, 7.0),
        ({"Retry-After": "\N{SUPERSCRIPT TWO}"}, 60.0),
    ],
)
def test_the_service_says_how_long_to_wait_by_its_own_clock(fake, client, clock, headers, waited):
    github = fake()
    github.faults.append(Fault(("GET",), ".*", 403, "API rate limit exceeded", headers))
    client(github).ask("GET", f"{ROOT}/pulls/7")
    assert clock.slept == [waited]


def test_a_server_error_may_name_its_own_waiting_time(fake, client, clock):
    github = fake()
    github.faults.append(Fault(("GET",), ".*", 503, "Service unavailable", {"Retry-After": "9"}))
    client(github).ask("GET", f"{ROOT}/pulls/7")
    assert clock.slept == [9.0]


def test_what_will_not_change_is_not_repeated(fake, client, clock):
    with pytest.raises(ApiError) as refused:
        client(fake()).ask("GET", f"{ROOT}/pulls/99")
    assert (refused.value.status, refused.value.denied, refused.value.outcome_unknown) == (404, True, False)
    assert clock.slept == []


def test_hope_ends_after_four_attempts(fake, client, clock):
    github = fake()
    github.faults.append(Fault(("GET",), ".*", 500, "Oops", times=None))
    with pytest.raises(ApiError, match="500 Oops"):
        client(github).ask("GET", f"{ROOT}/pulls/7")
    assert (len(github.journal), clock.slept) == (4, [1.0, 2.0, 4.0])


def test_a_page_of_html_is_no_message(fake, client):
    github = fake()
    github.faults.append(Fault(("GET",), ".*", 418, "<html>" * 50, how="garble", media="text/html"))
    github.faults.append(Fault(("GET",), ".*", 418, "x" * 5_000))
    messages = []
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            client(github).ask("GET", f"{ROOT}/pulls/7")
        messages.append(refused.value.message)
    assert messages[0] == "status 418"
    assert messages[1].startswith("418 xxx")
    assert len(messages[1]) == 300


def test_a_list_that_is_none_is_refused(fake, client, monkeypatch):
    one = client(fake())
    monkeypatch.setattr(one, "ask", lambda *_, **__: Answer(200, {}, {"message": "x"}))
    with pytest.raises(ApiError, match="not a list"):
        list(one.pages(f"{ROOT}/issues/7/comments"))


def test_pages_end_somewhere(fake, client, monkeypatch):
    github = fake("busy")
    monkeypatch.setattr("plumbline.github.rest.MAX_PAGES", 1)
    assert len(list(client(github).pages(f"{ROOT}/issues/7/comments"))) == 100


def test_a_service_that_is_not_there_is_asked_again_and_given_up(clock):
    with FakeGithub() as gone:
        url = gone.api_url
    with (
        Client(url, "t", patience=Patience(clock=clock.now, sleep=clock.sleep)) as client,
        pytest.raises(ApiError, match="no answer") as refused,
    ):
        client.ask("GET", f"{ROOT}/pulls/7")
    assert refused.value.outcome_unknown
    assert len(clock.slept) == 3


def test_an_error_never_quotes_the_token(fake, client):
    one = client(fake(), token="line\nbreak-secret")
    with pytest.raises(ApiError) as refused:
        one.once("GET", f"{ROOT}/pulls/7")
    assert "secret" not in refused.value.message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_whatever_pygithub_raises_is_an_api_error(fake, client, monkeypatch):
    one = client(fake())
    monkeypatch.setattr(type(one._github.requester), "requestJson", lambda *_, **__: 1 / 0)
    with pytest.raises(ApiError, match="ZeroDivisionError"):
        one.once("GET", "/user")


@pytest.mark.parametrize(
    "answer",
    [
        {"data": None},
        {"errors": []},
        {"errors": ["no"]},
        {"errors": [{"type": "RATE_LIMITED"}]},
        {"errors": [{"type": "FORBIDDEN"}, {"type": "RATE_LIMITED"}]},
        {"data": {"viewer": {"login": 1}}},
        [],
    ],
)
def test_a_viewer_that_cannot_be_read_is_no_answer(fake, client, monkeypatch, answer):
    github = fake()
    one = client(github)
    assert one.viewer() == "github-actions[bot]"
    monkeypatch.setattr(one, "ask", lambda *_, **__: Answer(200, {}, answer))
    with pytest.raises(ApiError, match="whom the token speaks for"):
        one.viewer()


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_may_not_ask_whom_it_speaks_for_gets_none(fake, client, status):
    github = fake()
    github.faults.append(Fault(("POST",), "/graphql", status, "no"))
    assert client(github).viewer() is None


@pytest.mark.parametrize("kind", ["FORBIDDEN", "INSUFFICIENT_SCOPES"])
def test_graphql_refuses_with_status_200(fake, client, monkeypatch, kind):
    one = client(fake())
    monkeypatch.setattr(one, "ask", lambda *_, **__: Answer(200, {}, {"data": None, "errors": [{"type": kind}]}))
    assert one.viewer() is None


@pytest.mark.parametrize(("status", "headers"), [(502, {}), (404, {}), (403, {"Retry-After": "3600"}), (429, {})])
def test_a_service_that_stumbles_does_not_say_whom_the_token_speaks_for(fake, client, status, headers):
    github = fake()
    github.faults.append(Fault(("POST",), "/graphql", status, "x", headers, times=None))
    with pytest.raises(ApiError):
        client(github).viewer()


def test_the_token_is_not_taken_to_another_graphql_host(fake, client):
    github, other = fake(), fake()
    assert client(github, graphql_url=other.graphql_url).viewer() is None
    assert client(github, graphql_url="").viewer() is None
    assert other.journal == github.journal == []


def test_netrc_does_not_replace_the_token(fake, client, tmp_path, monkeypatch):
    path = tmp_path / "netrc"
    path.write_text("machine 127.0.0.1 login somebody password else\n", "utf-8")
    monkeypatch.setenv("NETRC", str(path))
    assert client(fake()).once("GET", f"{ROOT}/pulls/7").status == 200


def test_nothing_the_service_says_reaches_the_log(fake, client, caplog):
    github = fake("redirect")
    github.redirect_target = f"{github.api_url}/rate_limit"
    with pytest.raises(ApiError, match="redirect"):
        client(github).once("GET", f"{ROOT}/pulls/7")
    assert caplog.records == []


@pytest.mark.parametrize("description", ["ghes-3.17", "ghes-3.18", "ghes-3.19"])
def test_enterprise_server_has_its_own_paths_and_description(fake, client, event, description):
    from plumbline.github.code_scanning import upload_sarif
    from plumbline.github.comment import upsert_comment

    github = fake(prefix="/api/v3", description=description)
    assert github.graphql_url.endswith("/api/graphql")
    this = event(github)
    one = client(github)
    assert upsert_comment(one, this, target="t", key="k", body="x").status == "created"
    assert upsert_comment(one, this, target="t", key="k", body="y").status == "updated"
    assert upload_sarif(one, this, b'{"runs": []}').status == "uploaded"


class Endless:
    """A server that says what it is given and then drips, a byte at a time, for as long as anybody listens."""

    def __init__(self, beginning, drip=b" "):
        self.beginning, self.drip = beginning, drip
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_):
        self.done.set()
        self.listener.close()
        self.thread.join(5)

    def serve(self):
        with contextlib.suppress(OSError):
            connection, _ = self.listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(self.beginning)
                while not self.done.wait(0 if len(self.drip) > 1 else 0.05):
                    connection.sendall(self.drip)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX: ",
        HEAD + b"Content-Length: 100000\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFF\r\n",
        HEAD + b"\r\n",
    ],
)
def test_an_answer_that_drips_ends_with_the_budget(beginning):
    with Endless(beginning) as url, Client(url, "t", patience=Patience(0.6)) as client:
        began = time.monotonic()
        with pytest.raises(ApiError, match="used up") as refused:
            client.ask("GET", f"{ROOT}/pulls/7")
        assert time.monotonic() - began < 3
    assert refused.value.outcome_unknown


def test_an_answer_without_end_is_read_up_to_a_size(monkeypatch):
    monkeypatch.setattr("plumbline.github.rest.MAX_ANSWER", 1_000_000)
    head = HEAD + b"Content-Length: 600000000\r\n\r\n"
    with Endless(head, b" " * 65_536) as url, Client(url, "t", patience=Patience(20)) as client:
        began = time.monotonic()
        with pytest.raises(ApiError, match="more than 1000000 bytes"):
            client.ask("GET", f"{ROOT}/pulls/7")
        assert time.monotonic() - began < 10


def test_a_page_of_the_longest_comments_is_no_answer_without_end(fake, client):
    github = fake()
    for _ in range(100):
        github.world.add_comment("\N{SNOWMAN}" * 65_536)
    assert len(list(client(github).pages(f"{ROOT}/issues/7/comments"))) == 100


def test_a_deeply_nested_answer_is_not_whole(fake, client, monkeypatch):
    one = client(fake())
    monkeypatch.setattr(one, "_send", lambda *_: (200, {}, "[" * 200_000))
    with pytest.raises(ApiError, match="not whole"):
        one.once("GET", "/user")


@pytest.fixture
def certificate(tmp_path):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM) + private)
    return path


def test_a_private_certificate_is_trusted_when_the_environment_says_so(fake, client, certificate, clock):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    github = fake(tls=context)
    with pytest.raises(ApiError, match="REQUESTS_CA_BUNDLE"):
        client(github).ask("GET", f"{ROOT}/pulls/7")
    assert clock.slept == []
    assert client(github, ca_bundle=str(certificate)).ask("GET", f"{ROOT}/pulls/7").status == 200

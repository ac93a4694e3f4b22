"""An SMTP relay for tests, which behaves as relays do: it accepts, refuses, defers, hangs and disconnects.

Writes a line of JSON when it listens, and one for each mail that it accepts.

The local part of the recipient selects the behaviour:

- `refused`: 550 at RCPT
- `later`: 451 at RCPT
- `gone`: disconnects at RCPT
- `spam`: 554 after the content
- `hang`: no answer to the content
- `lost`: accepts; at the first delivery it disconnects instead of answering
- `silent`: accepts; at the first delivery it does not answer
"""

import argparse
import asyncio
import base64
import email
import email.policy
import json
import os
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Handler:
    def __init__(self, options):
        self.fail_every = options.fail_every
        self.brief = options.brief
        self.count = 0
        self.seen = set()

    @staticmethod
    def tell(**event):
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()

    async def handle_MAIL(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.7.60 sender not allowed"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        kind = address.split("@")[0].split("+")[0]
        if kind == "refused":
            return "550 5.1.1 no such user"
        if kind == "later":
            return "451 4.2.1 not now"
        if kind == "gone":
            server.transport.abort()
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        kind = envelope.rcpt_tos[0].split("@")[0].split("+")[0]
        self.count += 1
        if kind == "spam":
            return "554 5.7.1 no spam"
        if kind == "hang":
            self.tell(event="hanging")
            await asyncio.sleep(3600)
        if self.fail_every and self.count % self.fail_every == 0:
            return "451 4.3.0 try again"
        content = envelope.original_content
        # The test reads the mail as an independent parser does.
        mail = email.message_from_bytes(content, policy=email.policy.default)
        name = str(mail["message-id"])
        taken = dict(event="taken", id=name, to=envelope.rcpt_tos)
        self.tell(**taken, **({} if self.brief else self.details(server, session, envelope, mail)))
        if kind in ("lost", "silent") and name not in self.seen:
            self.seen.add(name)
            if kind == "lost":
                server.transport.abort()
            await asyncio.sleep(3600)
        return "250 2.0.0 taken"

    @staticmethod
    def details(server, session, envelope, mail):
        return dict(
            sender=envelope.mail_from,
            user=session.auth_data,
            tls=session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None,
            peer=session.peer[1],
            smtputf8=envelope.smtp_utf8,
            fields=[[field, str(value)] for field, value in mail.items()],
            text=mail.get_body(["plain"]).get_content().replace("\r\n", "\n"),
            html=mail.get_body(["html"]).get_content().replace("\r\n", "\n"),
            defects=[repr(defect) for part in mail.walk() for defect in part.defects],
            content=base64.b64encode(envelope.original_content).decode(),
        )


async def main(options):
    context = None
    if options.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate, options.key)
    handler = Handler(options)

    def authenticate(server, session, envelope, mechanism, data):
        good = isinstance(data, LoginPassword) and (data.login, data.password) == (b"concord", b"p\xc3\xa4ss word")
        return AuthResult(success=good, handled=False, auth_data=data.login.decode() if good else None)

    def connection():
        starttls = options.tls == "starttls"
        return SMTP(
            handler,
            hostname="relay.test",
            tls_context=context if starttls else None,
            require_starttls=starttls,
            authenticator=authenticate if options.login else None,
            auth_required=options.login,
            # aiosmtpd does not detect implicit TLS.
            auth_require_tls=starttls,
            enable_SMTPUTF8=options.smtputf8,
            loop=asyncio.get_running_loop(),
        )

    server = await asyncio.get_running_loop().create_server(
        connection, "127.0.0.1", options.port, ssl=context if options.tls == "tls" else None
    )
    handler.tell(event="listening", port=server.sockets[0].getsockname()[1])
    # Ends when the parent process is gone.
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", choices=["none", "starttls", "tls"], default="none")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--login", action="store_true")
    parser.add_argument("--smtputf8", action="store_true")
    parser.add_argument("--brief", action="store_true", help="report only message id and recipient of a mail")
    parser.add_argument("--fail-every", type=int, default=0)
    asyncio.run(main(parser.parse_args()))

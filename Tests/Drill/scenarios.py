"""The scenarios of the drill. Each runs under load and returns its figures."""

import os
import shutil
import subprocess
import time

from programs import REPOSITORY, Bouncer, DrillError, Postgres, wait_until
from stage import Figures, Stage


def quiet(options):
    """The same load without a fault. Its audit findings are those that the load makes."""
    with Stage(options, "no fault") as stage:
        stage.open()
        stage.run_for(options.seconds)
        options.allowed_findings = frozenset(stage.close(allowed_findings=AnyRule()))
        return stage.figures


class AnyRule:
    def __contains__(self, _):
        return True


def kills(options):
    """`kill -9` of servers and of PostgreSQL with all its backends, in turn."""
    with Stage(options, "kill -9") as stage:
        stage.open()
        stage.run_for(2)
        for number in range(options.kills):
            # Every fourth kill is PostgreSQL.
            if number % 4 == 3:
                stage.postgres.crash()
                stage.postgres.start()
            else:
                server = stage.servers[number % len(stage.servers)]
                server.kill()
                server.start(is_ready=False)
            ended = time.monotonic()
            stage.figures.faults += 1
            stage.recovered(ended)
        stage.figures.note = f"{options.kills // 4} of them PostgreSQL"
        stage.close(allowed_findings=options.allowed_findings)
        return stage.figures


def paused(options):
    """PostgreSQL stops answering without closing a connection, as on a machine that hangs."""
    with Stage(options, "PostgreSQL paused") as stage:
        stage.open()
        for seconds in (2, 5, 15):
            stage.run_for(2)
            stage.postgres.pause()
            time.sleep(seconds)
            stage.postgres.resume()
            stage.figures.faults += 1
            stage.recovered(time.monotonic())
        stage.figures.note = "2, 5 and 15 s"
        stage.close(allowed_findings=options.allowed_findings)
        return stage.figures


def disk_full(options):
    """The disk of PostgreSQL is full, then has space again."""
    disk = options.directory / "small-disk"
    disk.mkdir()
    if os.getuid() != 0 or subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400m,mode=711", "drill", str(disk)], stderr=subprocess.DEVNULL
    ).returncode != 0:
        return skipped("disk full", "needs root to mount a small disk")
    try:
        settings = {"max_wal_size": "64MB", "min_wal_size": "32MB", "wal_recycle": "off"}
        with Stage(options, "disk full", settings, directory=disk) as stage:
            stage.open()
            for _ in range(2):
                stage.run_for(2)
                filler = disk / "filler"
                with open(filler, "wb") as file:
                    try:
                        while True:
                            file.write(b"\0" * (1 << 20))
                            file.flush()
                    except OSError:
                        pass
                stage.run_for(6)
                filler.unlink()
                ended = time.monotonic()
                stage.figures.faults += 1
                if not stage.postgres.is_running():
                    # PostgreSQL ends by design when it cannot write its log.
                    stage.postgres.start()
                    ended = time.monotonic()
                stage.recovered(ended)
            stage.close(allowed_findings=options.allowed_findings)
            return stage.figures
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def promoted(options, is_synchronous):
    """The primary dies, and its standby becomes the primary."""
    name = "standby promoted, " + ("synchronous" if is_synchronous else "asynchronous")
    with Stage(options, name, {"wal_level": "replica", "max_wal_senders": "10", "hot_standby": "on"}) as stage:
        standby = Postgres("standby", stage.directory)
        stage.programs.append(standby)
        url = (
            f"postgresql://postgres@127.0.0.1:{stage.postgres.port},127.0.0.1:{standby.port}/concord"
            "?target_session_attrs=read-write"
        )

        def follow():
            stage.postgres.back_up(standby, "-R", "-X", "stream")
            standby.configure({"primary_conninfo": f"host=127.0.0.1 port={stage.postgres.port} user=postgres"})
            standby.start()
            if is_synchronous:
                stage.postgres.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
                stage.postgres.sql("SELECT pg_reload_conf()")
            state = "sync" if is_synchronous else "async"
            wait_until(
                lambda: stage.postgres.try_sql("SELECT sync_state FROM pg_stat_replication") in (state, "quorum"),
                30, "the standby follows")

        stage.open(url=url, prepare=follow)
        stage.run_for(max(3, options.seconds / 2))
        killed = time.monotonic()
        stage.postgres.crash()
        if not is_synchronous:
            # The standby had everything but the last moment.
            stage.load.forgive_since(killed - 1)
        if is_synchronous:
            standby.configure({"synchronous_standby_names": ""})
        standby.promote()
        if is_synchronous:
            standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
            standby.sql("SELECT pg_reload_conf()")
        ended = time.monotonic()
        stage.figures.faults += 1
        stage.recovered(ended)
        stage.run_for(max(3, options.seconds / 2))
        stage.close(postgres=standby, allowed_findings=options.allowed_findings)
        if stage.figures.interruption > options.interruption_max:
            stage.figures.wrong.append(
                f"requests failed for {stage.figures.interruption:.1f} s after the promotion, "
                f"more than {options.interruption_max} s")
        return stage.figures


def pooler(options):
    """PgBouncer, in transaction mode, dies and starts again."""
    version = Bouncer.version()
    if not version:
        return skipped("pooler killed", "PgBouncer is not installed")
    with Stage(options, "pooler killed") as stage:
        bouncer = Bouncer(stage.directory)
        stage.programs.append(bouncer)
        is_named = bouncer.has_named_statements()
        stage.open(url=bouncer.url, environment=Bouncer.settings(), prepare=lambda: bouncer.start(stage.postgres))
        for _ in range(options.kills // 10):
            stage.run_for(0.5)
            bouncer.kill()
            bouncer.start(stage.postgres)
            stage.figures.faults += 1
            stage.recovered(time.monotonic())
        stage.figures.note = f"PgBouncer {version[0]}.{version[1]}, " + ("named" if is_named else "unnamed")
        stage.close(allowed_findings=options.allowed_findings)
        return stage.figures


def clock_steps(options):
    """The clock of one server jumps, forwards and backwards."""
    if not shutil.which("faketime"):
        return skipped("clock steps", "faketime is not installed")
    with Stage(options, "clock steps") as stage:
        stage.open()
        step_file = stage.directory / "clock"
        step_file.write_text("+0")
        server = stage.servers[0]
        server.stop()
        # The wrapper prepares the environment. The file, which can change, replaces its fixed offset.
        server.prefix = ["faketime", "-m", "-f", "+0", "env", "--unset=FAKETIME"]
        server.environment = {
            **server.environment, "FAKETIME_TIMESTAMP_FILE": str(step_file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        server.start()
        # ID tokens are too old or too new after a step; a refresh makes new ones.
        stage.load.set_lenient(True)
        for step, seconds in [("+30s", 30), ("-30s", -30), ("+90m", 5400), ("-90m", -5400), ("+40d", 3456000), ("+0", 0)]:
            step_file.write_text(step)
            stage.figures.faults += 1
            stage.run_for(3)
            offset = server.token_time(stage.api_key) - time.time()
            if abs(offset - seconds) > 10:
                raise DrillError(f"the clock of {server.name} is {offset:.0f} s away after a step to {step}")
        stage.run_for(3)
        stage.load.set_lenient(False)
        stage.figures.note = "of one server: ±30 s, ±90 min, 40 days"
        stage.close(allowed_findings=options.allowed_findings)
        return stage.figures


def schema_apart(options):
    """Servers on a schema one version newer, and one version older, than their own."""
    with Stage(options, "schema one version apart") as stage:
        stage.open()
        migrations = stage.directory / "migrations"
        shutil.copytree(REPOSITORY / "migrations", migrations)
        newest = max(int(path.name[:4]) for path in migrations.glob("[0-9]*.up.sql"))
        name = f"{newest + 1:04}_drill"
        (migrations / f"{name}.up.sql").write_text(
            "CREATE TABLE drill (note text);\nALTER TABLE users ADD COLUMN drill_note text;\n")
        (migrations / f"{name}.down.sql").write_text(
            "ALTER TABLE users DROP COLUMN drill_note;\nDROP TABLE drill;\n")

        def migrate(*arguments):
            made = subprocess.run(
                [str(options.binary), "migrate", *arguments, "--migrations", str(migrations)],
                env=stage.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
            if made.returncode != 0:
                raise DrillError(f"migrate {' '.join(arguments)}: {made.stdout[-2000:]}")

        stage.run_for(2)
        migrate("up")
        stage.figures.faults += 1
        stage.run_for(3)
        # Servers that start now find the newer schema too.
        stage.servers[0].kill()
        stage.servers[0].start()
        stage.run_for(2)
        newer = stage.load.journal.counts["unknown"]
        migrate("down", "--yes", "--to", str(newest))
        stage.recovered(time.monotonic())
        migrate("down", "--yes", "--to", str(newest - 1))
        stage.figures.faults += 1
        stage.run_for(3)
        migrate("up", "--to", str(newest))
        stage.recovered(time.monotonic())
        stage.run_for(2)
        stage.figures.note = f"newer: {newer} failed requests; older: refused with 503 or served"
        stage.close(allowed_findings=options.allowed_findings)
        return stage.figures


def restored(options):
    """The disk of PostgreSQL is lost. A base backup and the archived log bring everything back."""
    settings = {
        "wal_level": "replica", "archive_mode": "on", "archive_timeout": "5s",
        "archive_command": f"test ! -f {options.directory}/restored/archive/%f && "
                           f"cp %p {options.directory}/restored/archive/%f.part && "
                           f"mv {options.directory}/restored/archive/%f.part {options.directory}/restored/archive/%f",
    }
    with Stage(options, "restored", settings) as stage:
        stage.open()
        stage.run_for(2)
        restored = Postgres("restored", stage.directory)
        stage.programs.append(restored)
        stage.postgres.back_up(restored, "-X", "none")
        stage.run_for(options.seconds)
        # Everything acknowledged until here is in the archive, or in the segment that is archived next.
        stage.load.stop()
        last = stage.postgres.sql("SELECT pg_walfile_name(pg_switch_wal())")
        wait_until(lambda: (stage.directory / "archive" / last).exists(), 60, "the log is archived")
        stage.postgres.crash()
        shutil.rmtree(stage.postgres.data)
        restored.configure({
            "restore_command": f"cp {stage.directory}/archive/%f %p", "archive_mode": "off",
            "recovery_target_timeline": "latest",
        })
        (restored.data / "recovery.signal").touch()
        restored.own(restored.data / "recovery.signal")
        began = time.monotonic()
        restored.start()
        wait_until(lambda: restored.try_sql("SELECT pg_is_in_recovery()") == "f", 120, "the recovery ends")
        stage.figures.faults += 1
        stage.figures.note = f"recovered in {time.monotonic() - began:.1f} s"
        stage.close(postgres=restored, allowed_findings=options.allowed_findings)
        return stage.figures


def skipped(name, reason):
    figures = Figures(name)
    figures.skipped = reason
    return figures


#: In the order in which they run.
ALL = {
    "quiet": quiet,
    "kills": kills,
    "paused": paused,
    "disk-full": disk_full,
    "promoted-sync": lambda options: promoted(options, True),
    "promoted-async": lambda options: promoted(options, False),
    "pooler": pooler,
    "clock": clock_steps,
    "schema": schema_apart,
    "restored": restored,
}

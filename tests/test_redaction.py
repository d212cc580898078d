"""What looks like a secret is in no record, report or page; what is none stays as it is."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tare.core.redaction import HIDDEN, redact_text, redact_variables, redact_words

SECRET = "hunter2-X9"
COMMANDS = (
    f"curl -u bob:{SECRET} https://host/x",
    f"curl --user bob:{SECRET} https://host/x",
    f"curl -ubob:{SECRET} https://host/x",
    f"curl -H 'Authorization: Bearer {SECRET}' https://host/x",
    f"curl -H 'X-Api-Key: {SECRET}' https://host/x",
    f"curl -H 'Authorization: token {SECRET}' https://host/x",
    f"mysql -h db -p{SECRET} bench",
    f"/usr/bin/mysqldump -uroot -p{SECRET} bench",
    f"tool --password {SECRET} --size 4",
    f"tool --password={SECRET} --size 4",
    f"tool -password {SECRET}",
    f"tool --db-password '{SECRET} more'",
    f"tool --api-key {SECRET}",
    f"tool --token {SECRET}",
    f"git clone https://bob:{SECRET}@host/x.git",
    f"git clone https://bob:p@{SECRET}@host/x.git",
    f"psql postgres://bob:{SECRET}@db:5432/x",
    f"sshpass -p {SECRET} ssh n1",
    f"sshpass -p{SECRET} ssh n1",
    f"env PGPASSWORD={SECRET} psql",
    f"env AWS_SECRET_ACCESS_KEY={SECRET} aws s3 ls",
    f"sh -c 'PGPASSWORD={SECRET} psql | tee x'",
    f"sh -c 'curl -u bob:{SECRET} https://host'",
    f"sh -c 'sshpass -p {SECRET} ssh n1'",
    f"sh -c 'mysql -p{SECRET} bench'",
    f"sh -c 'tool --password {SECRET}; echo done'",
    f'tool --json \'{{"password": "{SECRET}", "n": 1}}\'',
    f"tool --url 'https://host/x?api_key={SECRET}&n=1'",
)
TOKENS = (
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "glpat-ABCDEFabcdef01234567",
    "xoxb-123456789012-abcdefABCDEF",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "hf_abcdefghijABCDEFGHIJ0123456789abcd",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r",
)
HARMLESS = (
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "SHA256:uNiVztksCsDhcc0u9e8BrWJ9ZqD1mH3oR2QyTz5xABC",
    "commit 90f5554c0ffee0123456789abcdef0123456789a",
    "/opt/spack/linux-x86_64/openmpi-4.1.6-abcdefg2hijklmn3opqrstu4vwxyz567/bin/mpirun",
    "/nix/store/0c7kq2jv3xw1p9n8m6l5z4y3x2w1v0u9-openmpi-4.1.6",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/bin",
    "--cpu-bind=mask_cpu:0x00000000ffffffff,0xffffffff00000000",
    "SLURM_CPU_BIND=quiet,mask_cpu:0x000000000000FFFF,0x00000000FFFF0000",
    "-H n1:64,n2:64,n3:64,n4:64",
    "-hosts node-001,node-002,node-003,node-004",
    "--mca btl tcp,self,vader --mca btl_tcp_if_include eth0",
    "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1",
    "FI_PROVIDER=tcp;ofi_rxm",
    "I_MPI_PIN_DOMAIN=[FFFF,FFFF0000]",
    "PMIX_SERVER_URI41=pmix-server.7;tcp4://127.0.0.1:4711",
    "docker.io/library/debian:12@sha256:0123456789abcdef",
    "HPL: T/V N NB P Q Time Gflops ... PASSED",
    "WR11C2R4 29184 192 2 2 63.27 2.6194e+02",
    "1 tests completed and passed residual checks,",
    "Author: the HPCG developers",
    "Passes: 5, bypass: on, keys: 100, monkey: 3",
    "tokens: 4096 tokens/s: 12.5",
    "max_tokens=512",
    "key: 42",
    "--key-size 16 --keys 1000",
    "ssh -i /home/bob/.ssh/id_ed25519 -o PasswordAuthentication=no n1",
    "SSH_AUTH_SOCK=/tmp/ssh-abc/agent.1",
    "--password-file /etc/pw --token-file ~/.tare-token",
    "fio --name=randread --ioengine=libaio --bs=4k --iodepth=32",
    "LinearAlgebraBenchmarkSuite2024Version3Final",
    "IMB-MPI1 PingPong -npmin 2 -msglog 0:22",
    "MPI_Allreduce_scatter_block_init_c",
    "mpirun -u none; sort -u a:b ; id -u",
    "mkdir -p /scratch/bench; mysql_bench -p 4",
    "2026-11-22T22:15:18.123456+00:00",
    "550e8400-e29b-41d4-a716-446655440000",
    "1.234567890123456789e+10 -9.87654321e-05 0x1.fffffffffffffp+1023",
    "https://host:8080/path/to/data?n=1",
    "basic test; bearer network; Basic performance: good",
    "GROMACS:      gmx mdrun, version 2022.5-Debian_2022.5_2",
    "/campaigns/demo/attempts/imb.pingpong-network=host-4f2a/1.1/stdout",
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_secret_of_a_command_is_hidden_in_its_words_and_in_its_line(line: str) -> None:
    words = redact_words(shlex.split(line))
    assert SECRET not in " ".join(words)
    assert HIDDEN in " ".join(words)
    assert len(words) == len(shlex.split(line))
    assert SECRET not in redact_text(line)


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_hidden_wherever_it_stands(token: str) -> None:
    for text in (token, f"tool {token} x", f"x={token}", f'say "{token}"', f"line\n{token}\nline"):
        assert token[8:] not in redact_text(text), text
    assert token not in redact_words(["tool", token])


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text
    assert redact_words(text.split()) == text.split()


def test_variables_keep_their_names_and_lose_their_secrets() -> None:
    env = {
        "DB_PASSWORD": "x y z",
        "API_KEY": "abc",
        "OMP_NUM_THREADS": "4",
        "PWD": "/work",
        "URL": "a://b:c@d",
    }
    env |= {"SSH_KEY": "/home/bob/key", "GITHUB_TOKEN": "123abc"}
    assert redact_variables(env) == {
        **env,
        "DB_PASSWORD": HIDDEN,
        "API_KEY": HIDDEN,
        "GITHUB_TOKEN": HIDDEN,
        "URL": f"a://b:{HIDDEN}@d",
    }


HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "shared" / "corpus"
HIDDEN_OF_CORPUS = {"Cookie", "cookie"}
"""What names the only words of real output that are hidden: iperf3's cookies, which tell a session apart."""


def changed_lines(path: Path) -> Iterator[str]:
    before = path.read_text(errors="replace")
    after = redact_text(before)
    assert before.count("\n") == after.count("\n")
    for line, shown in zip(before.split("\n"), after.split("\n"), strict=True):
        if line != shown:
            yield line


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of published outputs is not here")
def test_of_the_real_output_of_25_tools_nothing_is_hidden_but_six_cookies() -> None:
    files = [one for one in CORPUS.rglob("*") if one.is_file()]
    changed = [line for one in files for line in changed_lines(one)]
    assert len(files) > 200
    assert {re.split(r"[\s\":]+", line.strip(' \t"'))[0] for line in changed} == HIDDEN_OF_CORPUS
    assert len(changed) == 6


def test_of_manifests_and_transport_reports_only_the_key_of_a_job_is_hidden() -> None:
    files = [
        *HERE.glob("backends/kubernetes/goldens/*.yaml"),
        *HERE.glob("execution/transport_reports/*.txt"),
    ]
    changed = [line for one in files for line in changed_lines(one)]
    assert len(files) > 30
    assert {line.partition("Open MPI ")[2].partition(":")[0] for line in changed} == {"job key"}


@pytest.mark.parametrize(
    "make",
    [
        lambda bits: urlsafe_b64encode(bits[:32]),
        lambda bits: b64encode(bits[:32]),
        lambda bits: b64encode(bits[:48]),
        lambda bits: b64encode(bits[:20]),
    ],
    ids=["base64url of 256 bits", "base64 of 256 bits", "base64 of 384 bits", "base64 of 160 bits"],
)
def test_of_a_hundred_random_words_nine_in_ten_are_hidden(make: Callable[[bytes], bytes]) -> None:
    words = [make(hashlib.sha512(bytes([n])).digest()).decode() for n in range(100)]
    assert sum(word[:10] not in redact_text(f"sent {word} to n1") for word in words) >= 90


NAMES = (
    "fio_randwrite_1GB_4k_d1_th1_direct",
    "/rds/user/x/cclake-ib-gcc9-ompi3-ucx/Openfoam_Mbike_csd3_cclake_ib_gcc9_ompi3_ucx_3136_56",
    "set STKCASEG = ChicagoLADCO_d02_2022hc_cb6_22m",
    "classgmx_1_1OpenClTraits_3_01cl__context_01_4",
    "- key: prepare.sh",
    '"key": "input-0"',
)


@pytest.mark.parametrize("text", NAMES)
def test_names_made_of_words_are_none_by_chance(text: str) -> None:
    assert redact_text(text) == text


def test_of_a_path_only_the_random_part_is_hidden() -> None:
    assert redact_text("/home/bob/x8Kq2Lm9Zt4Vw7Rb3Ny6Pc1Hd5Gf0Js9/out") == f"/home/bob/{HIDDEN}/out"


def test_half_a_private_key_is_hidden_too() -> None:
    end = "MIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----\nvalue: 1"
    assert redact_text(end) == f"{HIDDEN}\nvalue: 1"
    assert redact_text("value: 1\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow") == f"value: 1\n{HIDDEN}"


def test_long_output_takes_no_long_time() -> None:
    for text in (
        "a" * 100_000,
        "curl " * 20_000,
        "key=" * 25_000,
        "://" * 30_000,
        "-----BEGIN PRIVATE KEY " * 5000,
        "-----BEGIN PRIVATE KEY-----" * 4000,
        "A1b2C3d4/" * 12_000,
        "a_B-1" * 20_000,
    ):
        began = time.process_time()
        redact_text(text)
        assert time.process_time() - began < 2, text[:20]

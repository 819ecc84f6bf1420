"""The launch recipe of aider."""

from __future__ import annotations

import pytest

from docket.errors import RefusedBeforeStartError
from docket.rules.agents.aider import AiderRecipe
from docket.rules.agents.interface import LaunchRequest

BASE = "http://127.0.0.1:4000/tok"
ENV = "/run/d/aider.env"


def request(*argv, environ=None, inputs=None):
    return LaunchRequest(
        argv=argv or ("aider", "--message", "hi"),
        environ={"HOME": "/h", **(environ or {})},
        base_url=BASE,
        run_dir="/run/d",
        inputs=inputs or {},
    )


def plan(*argv, **more):
    return AiderRecipe().plan(request(*argv, **more))


def lines(planned):
    (file,) = planned.files
    assert file.name == "aider.env"
    return file.data.decode().splitlines()


def test_the_env_file_of_the_run_repeats_the_environment():
    planned = plan()
    assert planned.argv == ("aider", "--env-file", ENV, "--message", "hi")
    assert set(lines(planned)) == {f"{name}={value}" for name, value in planned.env_set.items()}
    assert f"OPENAI_API_BASE={BASE}/openai/v1" in lines(planned)
    assert f"OPENAI_BASE_URL={BASE}/openai/v1" in lines(planned)
    assert f"AIDER_OPENAI_API_BASE={BASE}/openai/v1" in lines(planned)
    assert f"ANTHROPIC_API_BASE={BASE}/anthropic" in lines(planned)
    assert "AIDER_CHECK_UPDATE=false" in lines(planned)
    assert "AIDER_ANALYTICS=false" in lines(planned)
    assert "LITELLM_LOCAL_MODEL_COST_MAP=True" in lines(planned)
    assert planned.tolerates_usage_injection
    assert planned.refusal.status == 400
    assert planned.notes == ()
    assert "AIDER_SET_ENV" not in planned.env_set


def test_the_token_stands_in_no_argument():
    assert not any("tok" in word for word in plan().argv)


def test_what_the_person_set_stays():
    planned = plan(environ={"AIDER_ANALYTICS": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "False"})
    assert "AIDER_ANALYTICS" not in planned.env_set
    assert "LITELLM_LOCAL_MODEL_COST_MAP" not in planned.env_set


@pytest.mark.parametrize(
    ("argv", "environ"),
    [
        (("aider", "--env-file", "mine.env"), {}),
        (("aider", "--env-file=mine.env"), {}),
        (("aider", "--env-file", "other.env", "--env-file", "mine.env"), {}),
        (("aider",), {"AIDER_ENV_FILE": "mine.env"}),
    ],
)
def test_the_persons_own_env_file_is_kept_above(argv, environ):
    planned = plan(*argv, environ=environ, inputs={"mine.env": b"A='1'\n\n", "other.env": b"B=2"})
    assert planned.argv == ("aider", "--env-file", ENV)
    assert lines(planned)[0] == "A='1'"
    assert "B=2" not in lines(planned)
    assert "mine.env" in AiderRecipe().wanted_files(request(*argv, environ=environ))


def test_an_env_file_that_does_not_exist_is_no_matter():
    assert lines(plan("aider", "--env-file", "nope")) == lines(plan())


@pytest.mark.parametrize(
    ("argv", "environ", "inputs", "upstreams"),
    [
        ((), {"OPENAI_API_BASE": "http://a/v1"}, {}, {"openai": "http://a/v1"}),
        (
            (),
            {"OPENAI_BASE_URL": "http://a/v1", "ANTHROPIC_API_BASE": "http://b"},
            {},
            {"openai": "http://a/v1", "anthropic": "http://b"},
        ),
        ((), {"AIDER_OPENAI_API_BASE": "http://a/v1"}, {}, {"openai": "http://a/v1"}),
        (
            ("aider", "--openai-api-base", "http://a/v1"),
            {"OPENAI_API_BASE": "http://z/v1"},
            {},
            {"openai": "http://a/v1"},
        ),
        (("aider", "--openai-api-base=http://a"), {}, {}, {"openai": "http://a"}),
        (("aider", "--set-env", "ANTHROPIC_API_BASE=http://b"), {}, {}, {"anthropic": "http://b"}),
        (("aider", "--set-env", " OPENAI_API_BASE = http://b/v1 "), {}, {}, {"openai": "http://b/v1"}),
        (("aider", "--env-file", "e"), {}, {"e": b"OPENAI_API_BASE=http://e/v1"}, {"openai": "http://e/v1"}),
        ((), {}, {"/h/.env": b"OPENAI_API_BASE=http://h/v1"}, {"openai": "http://h/v1"}),
        ((), {}, {"/h/.aider.conf.yml": b'x: 1\nopenai-api-base: "http://c/v1" # y\n'}, {"openai": "http://c/v1"}),
        (
            (),
            {"AIDER_OPENAI_API_BASE": "http://a/v1"},
            {"/h/.aider.conf.yml": b"openai-api-base: http://c/v1"},
            {"openai": "http://a/v1"},
        ),
        ((), {}, {".env": b"OPENAI_API_BASE=http://evil/v1"}, {}),
        ((), {}, {".aider.conf.yml": b"openai-api-base: http://evil/v1"}, {}),
        ((), {"HOME": ""}, {}, {}),
    ],
)
def test_an_address_the_person_configured_becomes_the_upstream(argv, environ, inputs, upstreams):
    planned = plan(*argv, environ=environ, inputs=inputs)
    assert planned.upstreams == upstreams
    assert planned.argv == ("aider", "--env-file", ENV, *(("--message", "hi") if not argv else ()))


def test_what_a_repository_sets_is_told_and_not_followed():
    inputs = {
        ".env": b"OPENAI_BASE_URL=http://evil\nKEY=1\n",
        ".aider.conf.yml": b"set-env:\n - OPENAI_API_BASE=http://evil\nopenai-api-base: http://evil\n",
    }
    planned = plan(inputs=inputs)
    assert planned.notes == (
        "OPENAI_BASE_URL in .env is not followed: a repository does not choose where calls go",
        "set-env in .aider.conf.yml is not followed: a repository does not choose where calls go",
        "openai-api-base in .aider.conf.yml is not followed: a repository does not choose where calls go",
    )
    variable = planned.env_set["AIDER_SET_ENV"]
    assert variable.startswith("[")
    assert variable.endswith("]")
    assert f"ANTHROPIC_API_BASE={BASE}/anthropic" in variable[1:-1].split(",")
    assert f"AIDER_SET_ENV={variable}" in lines(planned)


@pytest.mark.parametrize("old", ["[A=1,B=2]", "A=1,B=2"])
def test_what_the_person_sets_by_variable_is_kept_before(old):
    planned = plan(environ={"AIDER_SET_ENV": old}, inputs={".aider.conf.yml": b"set-env: [X=1]"})
    assert planned.env_set["AIDER_SET_ENV"].startswith("[A=1,B=2,")


def test_where_the_person_sets_by_argument_no_variable_is_needed():
    planned = plan("aider", "--set-env", "A=1", inputs={".aider.conf.yml": b"set-env: [X=1]"})
    assert planned.argv == ("aider", "--env-file", ENV, "--set-env", "A=1")
    assert "AIDER_SET_ENV" not in planned.env_set


@pytest.mark.parametrize(
    ("path", "data", "says"),
    [
        (".aider.model.settings.yml", b"- extra_params:\n    api_base: http://evil", "api_base"),
        ("/h/.aider.model.settings.yml", b"- extra_params:\n    base_url: http://x", "base_url"),
        ("/h/.aider.conf.yml", b"set-env:\n - OPENAI_API_BASE=http://x", "OPENAI_API_BASE"),
    ],
)
def test_an_address_that_cannot_be_replaced_refuses_the_run(path, data, says):
    with pytest.raises(RefusedBeforeStartError, match=says) as caught:
        plan(inputs={path: data})
    assert path in caught.value.detail
    assert "http://" not in caught.value.detail


def test_it_is_found_as_a_module_and_by_name():
    assert plan("python", "-m", "aider", "x").argv == ("python", "-m", "aider", "--env-file", ENV, "x")
    assert plan("./wrapper", "x").argv == ("./wrapper", "--env-file", ENV, "x")


def test_the_files_that_are_looked_at():
    assert AiderRecipe().wanted_files(request()) == (
        ".aider.conf.yml", ".aider.model.settings.yml", ".env",
        "/h/.aider.conf.yml", "/h/.aider.model.settings.yml", "/h/.env",
    )  # fmt: skip
    assert AiderRecipe().wanted_files(request(environ={"HOME": ""})) == (
        ".aider.conf.yml",
        ".aider.model.settings.yml",
        ".env",
    )

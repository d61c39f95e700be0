"""Kubernetes manifests: schemas, references, options of commands, keys, exit codes, the restricted security profile."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

DEPLOY = pathlib.Path(__file__).parents[1]
KUBERNETES = DEPLOY / "kubernetes"
KUSTOMIZATIONS = sorted(KUBERNETES.rglob("kustomization.yaml"))
OVERLAYS = [path.parent for path in KUSTOMIZATIONS if path.parent.parent.name == "overlays"]
MANIFESTS = sorted(set(KUBERNETES.rglob("*.yaml")) - set(KUSTOMIZATIONS))
# As README.md says.
VERSIONS = [f"1.{minor}" for minor in range(29, 38)]


def objects(path):
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


@functools.cache
def rendered(overlay):
    """The objects of an overlay."""
    if shutil.which("kubectl"):
        command = ["kubectl", "kustomize", overlay]
    elif shutil.which("kustomize"):
        command = ["kustomize", "build", overlay]
    else:
        assert not os.environ.get("FATHOM_TEST_ALL"), "neither kubectl nor kustomize is installed"
        pytest.skip("neither kubectl nor kustomize is installed")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def sources():
    """Every file of manifests, and every overlay as it is applied."""
    files = [pytest.param(lambda path=path: objects(path), id=str(path.relative_to(KUBERNETES))) for path in MANIFESTS]
    return files + [pytest.param(lambda each=each: rendered(each), id=f"rendered {each.name}") for each in OVERLAYS]


of_each_source = pytest.mark.parametrize("load", sources())
of_each_overlay = pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda overlay: overlay.name)


def pods(found):
    """The names and specifications of pods in objects."""
    for each in found:
        if "template" in each["spec"]:
            yield each["metadata"]["name"], each["spec"]["template"]["spec"]


def main_container(pod):
    (container,) = pod["containers"]
    return container


def words(container):
    return container["command"] + container.get("args", [])


def options(line):
    """The options in a command line, with their values."""
    return dict(re.match(r"(--[a-z-]+)(?:=(.*))?$", word).groups() for word in line if word.startswith("-"))


@functools.cache
def known_options(*command):
    text = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


def made_by_keys(directory):
    subprocess.run(["fathom", "keys", directory / "keys"], check=True, capture_output=True)
    return {path.name for path in (directory / "keys").iterdir()}


@pytest.mark.parametrize("path", KUSTOMIZATIONS, ids=lambda path: path.parent.name)
def test_kustomization_lists_every_file(path):
    (kustomization,) = objects(path)
    assert kustomization["kind"] == "Kustomization"
    listed = {(path.parent / each).resolve() for each in kustomization["resources"]}
    assert all(each.exists() for each in listed), listed
    assert {each for each in path.parent.glob("*.yaml") if each != path} == {each for each in listed if each.is_file()}


@pytest.mark.parametrize("version", VERSIONS)
@of_each_source
def test_objects_match_the_schema(load, version):
    for each in load():
        kubernetes_validate.validate(each, version, strict=True)


def test_versions_in_readme():
    text = (KUBERNETES / "README.md").read_text()
    assert f"on Kubernetes {VERSIONS[0]} or later" in text
    assert f"Kubernetes {VERSIONS[0]} to {VERSIONS[-1]}" in text.replace("\n", " ")


@of_each_source
def test_options_exist(load):
    known = {
        "fathom": known_options("fathom", "serve"),
        "fathom-worker": known_options("fathom-worker"),
    }
    for _, pod in pods(load()):
        line = words(main_container(pod))
        unknown = options(line).keys() - known[line[0]]
        assert not unknown, f"{line[0]} does not have {unknown}"


@of_each_source
def test_variables_in_commands_are_defined(load):
    for _, pod in pods(load()):
        container = main_container(pod)
        defined = set()
        for each in container["env"]:
            # A variable may use those before it.
            assert set(re.findall(r"\$\((\w+)\)", each.get("value", ""))) <= defined
            defined.add(each["name"])
        assert set(re.findall(r"\$\((\w+)\)", " ".join(words(container)))) <= defined


@of_each_source
def test_keys_are_those_that_fathom_makes(load, tmp_path):
    needed = made_by_keys(tmp_path) - {"ca-key.pem"}
    for _, pod in pods(load()):
        (keys,) = pod["initContainers"]
        assert {each.removeprefix("/secret/") for each in keys["command"] if each.startswith("/secret/")} == needed
        # Fathom refuses secrets that others than their owner can read.
        assert options(keys["command"]) == {"--mode": "600"}


def test_keys_in_readme(tmp_path):
    text = (KUBERNETES / "README.md").read_text()
    assert set(re.findall(r"--from-file=keys/(\S+)", text)) == made_by_keys(tmp_path) - {"ca-key.pem"}


@of_each_source
def test_pods_meet_the_restricted_profile(load):
    user = int(re.search(r"useradd .*--uid (\d+)", (DEPLOY / "container" / "Containerfile").read_text())[1])
    for _, pod in pods(load()):
        security = pod["securityContext"]
        assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {security["runAsUser"], security["runAsGroup"], security["fsGroup"]} == {user}
        assert not pod["automountServiceAccountToken"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        for volume in pod["volumes"]:
            assert volume.keys() - {"name"} <= {"emptyDir", "persistentVolumeClaim", "secret"}
        for container in pod["initContainers"] + pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@of_each_source
def test_volumes_are_mounted_where_they_are_used(load):
    for each in load():
        for _, pod in pods([each]):
            claims = [claim["metadata"] for claim in each["spec"].get("volumeClaimTemplates", [])]
            volumes = {volume["name"] for volume in pod["volumes"] + claims}
            container = main_container(pod)
            mounts = container["volumeMounts"]
            assert {mount["name"] for mount in mounts} <= volumes
            environment = {each["name"]: each.get("value") for each in container["env"]}
            given = options(words(container))
            paths = [given.get(name) for name in ("--dir", "--store", "--join-file", "--shared-store")]
            for path in filter(None, [*paths, environment["FATHOM_KEYS"]]):
                assert any(pathlib.Path(path).is_relative_to(mount["mountPath"]) for mount in mounts), path


@of_each_source
def test_exit_codes_decide_what_a_job_does(load):
    for each in load():
        if each["kind"] != "Job":
            continue
        pod = each["spec"]["template"]["spec"]
        container = main_container(pod)
        # The API server accepts a podFailurePolicy only with these.
        assert (pod["restartPolicy"], each["spec"]["podReplacementPolicy"]) == ("Never", "Failed")
        actions = {}
        for rule in each["spec"]["podFailurePolicy"]["rules"]:
            codes = rule.get("onExitCodes", {"containerName": container["name"], "operator": "In", "values": []})
            assert (codes["containerName"], codes["operator"]) == (container["name"], "In")
            actions.update(dict.fromkeys(codes["values"], rule["action"]))
        assert actions[2] == "FailJob"
        assert actions[int(options(words(container))["--requeue-code"])] == "Ignore"
        # Counts as a failure.
        assert 1 not in actions


@of_each_overlay
def test_ports_and_names_agree(overlay):
    found = {(each["kind"], each["metadata"]["name"]): each for each in rendered(overlay)}
    assert {each["metadata"]["namespace"] for each in found.values()} == {"fathom"}
    templates = [each["spec"]["template"] for each in found.values() if "template" in each["spec"]]
    assert len(templates) == 2
    ports = {}
    for template in templates:
        container = main_container(template["spec"])
        given = options(words(container))
        own = {int(given[option].split(":")[1]) for option in ("--listen", "--metrics") if option in given}
        assert own == {each["containerPort"] for each in container["ports"]}
        ports[template["metadata"]["labels"]["app.kubernetes.io/component"]] = own

        volumes = template["spec"]["volumes"]
        claimed = {each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each}
        assert claimed <= {name for kind, name in found if kind == "PersistentVolumeClaim"}

        join = given.get("--join")
        assert join is None or ("Service", join.split(":")[0]) in found
        advertised = given["--advertise"]
        assert advertised == "$(POD_IP)" or ("Service", advertised) in found

    for (kind, name), each in found.items():
        if kind == "Service":
            selected = [
                template for template in templates if template["metadata"]["labels"] == each["spec"]["selector"]
            ]
            assert len(selected) == 1, name
            component = each["spec"]["selector"]["app.kubernetes.io/component"]
            assert {port["port"] for port in each["spec"]["ports"]} == ports[component]
        elif kind in ("StatefulSet", "PodDisruptionBudget"):
            selector = each["spec"]["selector"]["matchLabels"]
            assert selector in [template["metadata"]["labels"] for template in templates]

    policy = found["NetworkPolicy", "fathom"]["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == set.union(*ports.values())
    for template in templates:
        assert policy["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


@of_each_overlay
def test_probes_and_prometheus_use_the_metrics_port(overlay):
    (coordinator,) = [
        each for each in rendered(overlay) if each["metadata"]["name"] == "fathom-coordinator" and each["kind"] == "Job"
    ]
    template = coordinator["spec"]["template"]
    container = main_container(template["spec"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    (port,) = [each["containerPort"] for each in container["ports"] if each["name"] == "metrics"]
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(port)


def test_workers_of_the_job_are_those_of_the_set():
    (of_set,) = [pod for _, pod in pods(objects(KUBERNETES / "base" / "workers.yaml"))]
    (of_job,) = [pod for _, pod in pods(objects(KUBERNETES / "overlays" / "shared-store" / "workers.yaml"))]
    assert of_job.pop("restartPolicy") == "Never"
    # Without stores it does not matter where workers run.
    del of_set["topologySpreadConstraints"]
    for pod in (of_set, of_job):
        container = main_container(pod)
        container["command"] = [word for word in container["command"] if not word.startswith("--join")]
        container["volumeMounts"] = [each for each in container["volumeMounts"] if each["name"] != "layers"]
        pod["volumes"] = [each for each in pod["volumes"] if each["name"] not in ("layers", "store")]
    assert of_job == of_set


def test_commands_refuse_bad_input_with_the_code_that_fails_the_job(tmp_path):
    """The command of the base, with an unknown puzzle, on this machine."""
    (pod,) = [pod for _, pod in pods(objects(KUBERNETES / "base" / "coordinator.yaml"))]
    made_by_keys(tmp_path)
    command = [word.replace("/data", str(tmp_path)) for word in main_container(pod)["command"]]
    command = [re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", word) for word in command]
    environment = {**os.environ, "FATHOM_KEYS": str(tmp_path / "keys")}
    done = subprocess.run([*command, "nonsense"], check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, "unknown puzzle" in done.stderr) == (2, True), done.stderr

"""The bodies of the service's documented requests, in the order of its documentation."""

from typing import Any

DEMO = "demo-bucket"
BIGGAN = "jobs/MA-new-biggan-11-18-08-05"

ASCEND_PRESET: dict[str, Any] = {
    "kind": "job",
    "metadata": {"name": "MA-new-biggan-11-18-08-05", "workspace_id": "0", "description": "from desktop"},
    "algorithm": {
        "code_dir": f"/{DEMO}/{BIGGAN}/code/biggan/",
        "boot_file": f"/{DEMO}/{BIGGAN}/code/biggan/main.py",
        "engine": {
            "engine_name": "Ascend-Powered-Engine",
            "engine_version": "tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64",
        },
        "parameters": [{"name": "batchsize", "value": "4"}, {"name": "learning_rate", "value": "0.01"}],
        "inputs": [
            {
                "name": "data_url",
                "access_method": "parameter",
                "remote": {"obs": {"obs_url": f"/{DEMO}/dataset/cat/"}},
            }
        ],
        "outputs": [
            {
                "name": "train_url",
                "access_method": "parameter",
                "remote": {"obs": {"obs_url": f"/{DEMO}/{BIGGAN}/output/V0001/"}},
            }
        ],
        "environments": {"PYTHONUNBUFFERED": "1"},
    },
    "spec": {
        "resource": {"flavor_id": "modelarts.kat1.xlarge.public", "node_count": 1},
        "log_export_path": {"obs_url": f"/{DEMO}/{BIGGAN}/log/"},
        "auto_stop": {"time_unit": "HOURS", "duration": 4},
    },
}
CUSTOM_IMAGE: dict[str, Any] = {
    "kind": "job",
    "metadata": {"name": "own-image"},
    "algorithm": {
        "engine": {"image_url": "my-org/torch-npu:1.0"},
        "code_dir": f"/{DEMO}/code/ddp/",
        "command": "cd ${MA_JOB_DIR}/ddp && python train.py",
        "environments": {"HCCL_CONNECT_TIMEOUT": "1800"},
    },
    "spec": {"resource": {"flavor_id": "modelarts.kat1.xlarge.public", "node_count": 1}},
}
PRESET_ON_OWN_IMAGE: dict[str, Any] = {
    "kind": "job",
    "metadata": {"name": "preset-on-own-image"},
    "algorithm": {
        "code_dir": f"obs://{DEMO}/code/ddp/",
        "boot_file": f"obs://{DEMO}/code/ddp/train.py",
        "engine": {
            "engine_name": "PyTorch",
            "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
            "image_url": "my-org/torch:1.0",
            "install_sys_packages": True,
        },
    },
    "spec": {"resource": {"flavor_id": "modelarts.p3.large.public", "node_count": 1}},
}
# Every field of the tables, those among them that typed models of the SDK do not have or drop.
EVERY_FIELD: dict[str, Any] = {
    "kind": "job",
    "metadata": {
        "name": "every_field-1",
        "workspace_id": "0",
        "description": "描述 " + "x" * 253,
        "annotations": {
            "fault-tolerance/job-retry-num": "3",
            "fault-tolerance/job-unconditional-retry": "true",
            "fault-tolerance/hang-retry": "true",
            "jupyter-lab/enable": "false",
            "tensorboard/enable": "false",
            "performance_diagnosis_enabled": "false",
            "record/code-dir": f"/{DEMO}/record/",
            "job_template": "Template DL",
        },
        "training_experiment_reference": {"name": "every-experiment", "description": "made with its job"},
        "tags": [{"key": "team", "value": "cv"}],
    },
    "algorithm": {
        "code_dir": f"/{DEMO}/code/ddp/",
        "boot_file": f"/{DEMO}/code/ddp/train.py",
        "engine": {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"},
        "parameters": [
            {
                "name": "lr",
                "value": "0.1",
                "description": "learning rate",
                "constraint": {
                    "type": "Float",
                    "editable": True,
                    "required": True,
                    "sensitive": False,
                    "valid_type": "Range",
                    "valid_range": ["0", "1"],
                },
                "i18n_description": {"language": "zh-cn", "description": "学习率"},
            }
        ],
        "parameters_customization": True,
        "inputs": [
            {
                "name": "data_url",
                "access_method": "env",
                "description": "pictures",
                "remote": {"obs": {"obs_url": f"s3://{DEMO}/dataset/cat/"}},
                "remote_constraint": [{"data_type": "obs", "attributes": "[]"}],
            }
        ],
        "outputs": [
            {
                "name": "train_url",
                "access_method": "env",
                "remote": {"obs": {"obs_url": f"obs://{DEMO}/out/every/"}},
                "mode": "upload_periodically",
                "period": 60,
            }
        ],
        "local_code_dir": "/home/ma-user/modelarts/user-job-dir",
        "working_dir": "/home/ma-user/modelarts/user-job-dir",
        "environments": {"_A1": "no $HOME here", "B": ""},
        "policies": {"auto_search": None},
        "summary": {"log_type": "tensorboard", "log_dir": {"pfs": {"pfs_path": "/pfs/log"}}, "data_sources": []},
    },
    "spec": {
        "resource": {"policy": "regular", "flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
        "volumes": [
            {"nfs": {"nfs_server_path": "1.2.3.4:/", "local_path": "/mnt/a", "read_only": True}},
            {"pfs": {"pfs_path": "/pfs/a", "local_path": "/mnt/b"}},
            {"obs": {"obs_path": f"/{DEMO}/v/", "local_path": "/mnt/c"}},
        ],
        "log_export_path": {"obs_url": f"/{DEMO}/log/every"},
        "log_export_config": {"version": "v1", "rotation_enabled": False},
        "auto_stop": {"time_unit": "HOURS", "duration": 72},
        "schedule_policy": {"priority": 2, "preemptible": True},
        "notification": {"topic_urn": "urn:smn:x", "events": ["JobStarted", "JobFailed"]},
        "custom_metrics": [{"http_get": {"path": "/metrics", "port": 9100}}],
        "retention": {"policy": "disabled"},
        "reserved_time": {"time_unit": "HOURS", "duration": 1},
        "runtime_type": "debug",
    },
    "endpoints": {"ssh": {"key_pair_names": ["KeyPair-1"]}},
}
CREATE: dict[str, dict[str, Any]] = {
    "ascend": ASCEND_PRESET,
    "image": CUSTOM_IMAGE,
    "both": PRESET_ON_OWN_IMAGE,
    "every field": EVERY_FIELD,
}

SEARCH: dict[str, Any] = {
    "offset": 0,
    "limit": 20,
    "sort_by": "create_time",
    "order": "desc",
    "workspace_id": "0",
    "filters": [
        {"key": "name", "operator": "like", "value": ["biggan"]},
        {"key": "phase", "operator": "in", "value": ["Running", "Pending"]},
    ],
}
EXPERIMENT: dict[str, Any] = {"metadata": {"name": "experiment-1", "description": "first", "workspace_id": "0"}}
TAGS: dict[str, Any] = {"tags": [{"key": "team", "value": "cv"}]}
ALGORITHM: dict[str, Any] = {
    "metadata": {"name": "algorithm-1", "description": "reads pictures", "workspace_id": "0"},
    "job_config": {
        "code_dir": f"/{DEMO}/code/ddp/",
        "boot_file": f"/{DEMO}/code/ddp/train.py",
        "engine": {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"},
        "parameters": [{"name": "lr", "value": "0.1"}],
        "inputs": [{"name": "data_url"}],
        "outputs": [{"name": "train_url"}],
        "parameters_customization": True,
        "code_tree": "",
    },
    "resource_requirements": [{"key": "flavor_type", "operator": "in", "value": ["CPU"]}],
}
FILTERS: dict[str, list[Any]] = {
    "id": [],
    "name": ["MA-new-biggan-11-18-08-05"],
    "kind": ["job"],
    "phase": ["Pending"],
    "algorithm_id": [""],
    "algorithm_name": [""],
    "user_id": [],
    "pool_id": [""],
    "training_experiment_id": [""],
    "runtime_type": [""],
    "priority": ["1"],
}

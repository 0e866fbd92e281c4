"""Bucket policies: templates, what is wrong with one, and what it comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.storage.access import (
    MOST_GRANTS,
    Ability,
    Acl,
    Grant,
    Grantees,
    Openness,
    Permission,
    exposure,
    grant_problem,
)
from traindeck.domain.storage.buckets import name_note, name_problem
from traindeck.domain.storage.json_places import NotJson, TextPosition, located, offset_of
from traindeck.domain.storage.objects import is_bucket_name
from traindeck.domain.storage.policies import (
    MOST_BYTES,
    PolicyForm,
    Template,
    recognised,
    same_policy,
    template_policy,
)
from traindeck.domain.storage.policy_checks import (
    denials_of_owner,
    policy_effects,
    policy_findings,
)
from traindeck.lab.obs.policy import MalformedPolicy, checked_policy

BUCKET = "bkt"
OWNER = "0wner"
OWN = Grant(Grantees.ACCOUNT, Permission.FULL_CONTROL, OWNER)
PRIVATE_ACL = Acl(OWNER, (OWN,))


def policy(*statements: dict[str, Any]) -> str:
    usual = {"Effect": "Allow", "Principal": {"ID": "*"}, "Action": ["GetObject"], "Resource": [f"{BUCKET}/*"]}
    return json.dumps({"Statement": [{**usual, **one} for one in statements]})


def without(name: str) -> str:
    document = json.loads(policy({}))
    del document["Statement"][0][name]
    return json.dumps(document)


def findings(text: str, form: PolicyForm = PolicyForm.OBS) -> list[tuple[bool, str]]:
    return [(one.is_error, f"{one.title} {one.hint}") for one in policy_findings(text, BUCKET, form)]


@pytest.mark.parametrize("form", list(PolicyForm))
@pytest.mark.parametrize("template", list(Template))
def test_a_template_is_right_and_known_again(template: Template, form: PolicyForm) -> None:
    text = template_policy(template, BUCKET, form)
    assert findings(text, form) == []
    assert recognised(text, BUCKET) is template
    if text:
        assert checked_policy(text.encode(), BUCKET)
        assert recognised(template_policy(template, "other", form), BUCKET) is None


def test_a_template_is_known_however_it_is_written() -> None:
    text = json.dumps(
        {
            "Version": "2008-10-17",
            "Statement": [
                {
                    "Sid": "list",
                    "Effect": "Allow",
                    "Principal": "*",
                    "Action": ["listbucket", "obs:HeadBucket"],
                    "Resource": BUCKET,
                },
                {
                    "Effect": "Allow",
                    "Principal": {"ID": ["*"]},
                    "Action": ["getobjectversion", "s3:GetObject"],
                    "Resource": f"arn:aws:s3:::{BUCKET}/*",
                    "Condition": {},
                },
            ],
        }
    )
    assert recognised(text, BUCKET) is Template.PUBLIC_READ_LIST


@pytest.mark.parametrize(
    "change",
    [
        {"Effect": "Deny"},
        {"Resource": [BUCKET, f"{BUCKET}/folder/*"]},
        {"Principal": {"ID": ["domain/abc:user/*"]}},
        {"Condition": {"IpAddress": {"SourceIp": "10.0.0.0/8"}}},
        {"Action": ["*"]},
    ],
)
def test_what_differs_in_a_word_is_no_template(change: dict[str, Any]) -> None:
    document = json.loads(template_policy(Template.PUBLIC_READ, BUCKET, PolicyForm.OBS))
    document["Statement"][0].update(change)
    assert recognised(json.dumps(document), BUCKET) is None


BAD = [
    ("{", "not JSON"),
    ('{"Statement": [}', "not JSON"),
    ('{"Statement": []} x', "has ended before"),
    ('{"a": 1, "a": 2}', "“a” appears twice"),
    ('{"Statement": [{"Effect": "Allow", "Effect": "Deny"}]}', "“Effect” appears twice"),
    ('{"Statement": NaN}', "not JSON"),
    ("[" * 200_000, "bytes"),
    ("[" * 20_000, "not JSON"),
    ("\ud800", "incomplete character"),
    ("[]", "A policy is a JSON object"),
    ('"x"', "A policy is a JSON object"),
    ("{}", "“Statement” is missing"),
    ('{"Statements": []}', "Did you mean Statement?"),
    ('{"Statement": []}', "not a list of statements"),
    ('{"Statement": "x"}', "not a list of statements"),
    ('{"Statement": [1]}', "A statement is a JSON object"),
    (policy({"Effect": "allow"}), "neither Allow nor Deny"),
    (policy({"Effect": None}), "“Effect” is missing"),
    (without("Principal"), "“Principal” is missing"),
    (without("Action"), "“Action” is missing"),
    (without("Resource"), "“Resource” is missing"),
    (policy({"NotAction": "GetObject"}), "Both “Action” and “NotAction”"),
    (policy({"Actions": "GetObject"}), "Did you mean Action?"),
    (policy({"Principal": "somebody"}), "principal is not recognized"),
    (policy({"Principal": {}}), "principal is not recognized"),
    (policy({"Principal": {"AWS": "*"}}), "“AWS” is not allowed here"),
    (policy({"Principal": {"ID": []}}), "“ID” is empty"),
    (policy({"Principal": {"ID": ["lisa"]}}), "“lisa” is not a valid account"),
    (policy({"Action": []}), "“Action” is empty"),
    (policy({"Action": [7]}), "not a string"),
    (policy({"Action": "GetObjct"}), "Did you mean GetObject?"),
    (policy({"Action": "s3:GetObject"}), "Enter only GetObject"),
    (policy({"Resource": "other/*"}), "“other/*” is not in this bucket"),
    (policy({"Resource": f"{BUCKET}x/*"}), "is not in this bucket"),
    (policy({"Resource": f"arn:aws:s3:::{BUCKET}/*"}), "OBS does not accept an ARN"),
    (policy({"Condition": []}), "“Condition” is not a JSON object"),
    (policy({"Condition": {"IpAdress": {"SourceIp": "10.0.0.1"}}}), "Did you mean IpAddress?"),
    (policy({"Condition": {"IpAddress": {"SourceIp": "10.0.0.300"}}}), "is not valid for IpAddress"),
    (policy({"Condition": {"IpAddress": {}}}), "no keys to compare"),
    (policy({"Condition": {"NumericLessThan": {"max-keys": "many"}}}), "Enter a number"),
    (policy({"Condition": {"Bool": {"SecureTransport": "yes"}}}), "Enter true or false"),
    (policy({"Condition": {"DateLessThan": {"CurrentTime": "soon"}}}), "Enter a time"),
    (policy({"Condition": {"StringLike": {"Referer": []}}}), "A condition needs values"),
    (policy({"Sid": "x" * MOST_BYTES}), "20,480 are allowed"),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=[f"{number}" for number in range(len(BAD))])
def test_what_is_wrong_is_said_before_it_is_sent(text: str, words: str) -> None:
    errors = [said for is_error, said in findings(text) if is_error]
    assert any(words in said for said in errors), errors


GOOD = [
    policy({"Action": "*"}),
    policy({"Action": ["Get*", "list*"], "Resource": [BUCKET, f"{BUCKET}/*"]}),
    policy({"Principal": {"ID": ["domain/abc", "domain/abc:user/*", "domain/abc:agency/name", "domain/abc:root"]}}),
    policy({"Condition": {"StringNotLikeIfExists": {"Referer": ["https://x/*"]}, "Bool": {"SecureTransport": True}}}),
    policy({"Condition": {"NotIpAddress": {"SourceIp": ["10.0.0.1", "2001:db8::/32"]}}}),
    policy({"Condition": {"DateLessThan": {"CurrentTime": "2026-01-31T12:00:00Z"}}}),
]


@pytest.mark.parametrize("text", GOOD)
def test_what_the_service_takes_is_not_refused_here(text: str) -> None:
    assert findings(text) == []
    assert checked_policy(text.encode(), BUCKET)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)
                    | st.dictionaries(st.sampled_from(["Statement", "Effect", "Action", "Principal", "Resource",
                                                       "Condition", "x"]), inner)))  # fmt: skip
def test_whatever_is_typed_is_answered_and_nothing_broken_gets_through(document: object) -> None:
    text = json.dumps(document)
    found = policy_findings(text, BUCKET, PolicyForm.OBS)
    recognised(text, BUCKET), exposure(BUCKET, text, None), policy_effects(BUCKET, text, None)
    if not any(one.is_error for one in found):
        try:
            checked_policy(text.encode(), BUCKET)
        except MalformedPolicy as error:
            raise AssertionError(text) from error


def test_an_error_of_syntax_stands_where_it_is() -> None:
    text = '{\n  "Statement": [\n    {"Effect": "Allow"\n     "Principal": "*"}\n  ]\n}'
    (found,) = policy_findings(text, BUCKET, PolicyForm.OBS)
    assert found.place == TextPosition(4, 6)
    assert str(found.hint) == "A comma or a closing bracket is missing here."
    assert str(found.sentence).startswith("Line 4, column 6: This is not JSON.")


def test_an_error_of_meaning_stands_where_it_is() -> None:
    text = '{"Statement": [\n {"Effect": "Allow", "Principal": "*", "Resource": "bkt/*",\n  '
    text += '"Action": ["GetObject", "GetObjct"]}]}'
    (found,) = policy_findings(text, BUCKET, PolicyForm.OBS)
    assert found.place == TextPosition(3, 27)
    assert text[offset_of(text, TextPosition(3, 27)) :].startswith('"GetObjct"')


@given(st.recursive(st.integers() | st.text() | st.booleans(), lambda inner: st.lists(inner)
                    | st.dictionaries(st.text(), inner)), st.sampled_from([None, 1, "\t"]))  # fmt: skip
def test_every_part_of_a_document_is_found_where_it_stands(document: object, indent: Any) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    found = located(text)

    def check(part: object, way: tuple[str | int, ...]) -> None:
        at = text[offset_of(text, found.place(way)) :]
        if isinstance(part, dict):
            for name, inner in part.items():
                assert text[offset_of(text, found.place((*way, name))) :].startswith(
                    json.dumps(name, ensure_ascii=False)
                )
                check_inside(inner, (*way, name))
        elif isinstance(part, list):
            for number, inner in enumerate(part):
                check(inner, (*way, number))
        if not (way and isinstance(way[-1], str)):
            assert at.startswith(json.dumps(part, indent=indent, ensure_ascii=False)[:1])

    def check_inside(inner: object, way: tuple[str | int, ...]) -> None:
        if isinstance(inner, dict | list):
            check(inner, way)

    check(document, ())


def test_some_things_are_only_remarkable() -> None:
    odd = findings(policy({"Action": ["GetObject", "BrandNewAction"]}))
    assert [is_error for is_error, _ in odd] == [False]
    never = findings(policy({"Action": "ListBucket"}))
    assert never == [(False, "ListBucket applies to the bucket, but only objects are specified. "
                             "Add “bkt” to “Resource”; otherwise it has no effect.")]  # fmt: skip
    assert findings(policy({"Resource": BUCKET}))[0][0] is False


def test_s3_writes_policies_in_its_own_way() -> None:
    text = template_policy(Template.PUBLIC_READ, BUCKET, PolicyForm.S3)
    assert findings(text, PolicyForm.S3) == []
    assert {said.partition(".")[0] for _, said in findings(text)} >= {"OBS does not accept an ARN as “Resource”"}


def test_the_same_policy_is_the_same_however_it_is_laid_out() -> None:
    text = template_policy(Template.PUBLIC_READ, BUCKET, PolicyForm.OBS)
    assert same_policy(text, json.dumps(json.loads(text)))
    assert same_policy("", "  \n")
    assert not same_policy(text, "")
    assert not same_policy(text, "{")


@pytest.mark.parametrize(
    ("statements", "can"),
    [
        ([{}], {Ability.READ}),
        ([{"Resource": [f"{BUCKET}/folder/*"]}], {Ability.READ}),
        ([{"Action": "*", "Resource": [BUCKET, f"{BUCKET}/*"]}], set(Ability)),
        ([{"Action": ["Put*"]}], {Ability.WRITE, Ability.MANAGE}),
        ([{"Principal": {"ID": ["domain/abc:user/*"]}}], set()),
        ([{}, {"Effect": "Deny", "Principal": "*", "Action": ["Get*"]}], set()),
        ([{}, {"Effect": "Deny", "Resource": [f"{BUCKET}/secret/*"]}], {Ability.READ}),
        ([{}, {"Effect": "Deny", "Principal": {"ID": ["domain/abc:user/*"]}, "Action": ["*"]}], {Ability.READ}),
        ([{"NotResource": [f"{BUCKET}/*"], "Action": "*"}], {Ability.LIST, Ability.MANAGE}),
        ([{"Action": "ListBucket"}], set()),
    ],
)
def test_what_anybody_can_do_is_worked_out(statements: list[dict[str, Any]], can: set[Ability]) -> None:
    document = json.loads(policy(*statements))
    for one in document["Statement"]:
        if "NotResource" in one:
            del one["Resource"]
    found = exposure(BUCKET, json.dumps(document), PRIVATE_ACL)
    assert found.anybody == can
    assert found.is_public is bool(can)


def test_grants_and_policy_come_together() -> None:
    listing = Acl(OWNER, (OWN, Grant(Grantees.EVERYONE, Permission.READ)))
    assert exposure(BUCKET, policy({}), listing).anybody == {Ability.READ, Ability.LIST}
    denied = policy({"Effect": "Deny", "Action": "*", "Resource": [BUCKET, f"{BUCKET}/*"]})
    assert exposure(BUCKET, denied, listing).openness is Openness.PRIVATE
    assert exposure(BUCKET, "", listing, ignores_acl=True).openness is Openness.PRIVATE
    guests = Acl(OWNER, (OWN, Grant(Grantees.ACCOUNT, Permission.READ, "guest")))
    assert exposure(BUCKET, "", guests).openness is Openness.CUSTOM
    near = policy({"Condition": {"IpAddress": {"SourceIp": "10.0.0.0/8"}}})
    found = exposure(BUCKET, near, PRIVATE_ACL)
    assert (found.openness, found.anybody, found.sometimes) == (Openness.CUSTOM, frozenset(), frozenset({Ability.READ}))


def test_what_is_not_known_is_not_claimed() -> None:
    assert exposure(BUCKET, None, None).is_public is None
    assert exposure(BUCKET, None, PRIVATE_ACL).openness is Openness.UNKNOWN
    assert exposure(BUCKET, "", None).openness is Openness.UNKNOWN
    assert exposure(BUCKET, "this is no policy", PRIVATE_ACL).openness is Openness.UNKNOWN
    assert exposure(BUCKET, policy({}), None).is_public is True


DENIAL = {"Effect": "Deny", "Action": ["*"], "Resource": [BUCKET, f"{BUCKET}/*"]}


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (DENIAL, "denies yourself the permission to change or delete the policy"),
        ({**DENIAL, "Action": ["GetObject"]}, "denies yourself: GetObject"),
        ({**DENIAL, "Principal": {"ID": [f"domain/{OWNER}:user/*"]}}, "to change or delete"),
        (
            {**DENIAL, "Action": ["Put*"], "Condition": {"NotIpAddress": {"SourceIp": "10.0.0.0/8"}}},
            "If its condition",
        ),
        ({**DENIAL, "Principal": {"ID": ["domain/guest:user/*"]}}, ""),
        ({"Action": ["*"]}, ""),
    ],
)
def test_who_denies_everybody_is_told_that_it_is_also_him(statement: dict[str, Any], words: str) -> None:
    found = denials_of_owner(BUCKET, policy(statement), PRIVATE_ACL)
    assert [words in str(one.title) for one in found] == ([True] if words else [])


def test_who_is_excepted_from_a_denial_is_not_locked_out() -> None:
    document = json.loads(policy(DENIAL))
    statement = document["Statement"][0]
    del statement["Principal"]
    statement["NotPrincipal"] = {"ID": [f"domain/{OWNER}:user/*"]}
    assert denials_of_owner(BUCKET, json.dumps(document), PRIVATE_ACL) == ()
    statement["NotPrincipal"] = {"ID": ["domain/guest:user/*"]}
    assert len(denials_of_owner(BUCKET, json.dumps(document), PRIVATE_ACL)) == 1


def test_grants_that_cannot_be_are_not_added() -> None:
    grants = tuple(Grant(Grantees.ACCOUNT, Permission.READ, f"{number}") for number in range(MOST_GRANTS))
    assert grant_problem(Grant(Grantees.ACCOUNT, Permission.READ, "new"), grants[:5]) is None
    for grant, among in (
        (Grant(Grantees.ACCOUNT, Permission.READ), ()),
        (Grant(Grantees.ACCOUNT, Permission.READ, "a b"), ()),
        (Grant(Grantees.ACCOUNT, Permission.READ, "中"), ()),
        (Grant(Grantees.ACCOUNT, Permission.READ, "x" * 300), ()),
        (grants[0], grants[:1]),
        (Grant(Grantees.EVERYONE, Permission.READ), grants),
    ):
        assert grant_problem(grant, among) is not None


@given(st.text(alphabet="ab1.-A_ 中", max_size=66) | st.from_regex(r"\d{1,3}(\.\d{1,3}){3}", fullmatch=True))
def test_a_name_has_a_problem_exactly_when_it_cannot_be_one(name: str) -> None:
    assert (name_problem(name) is None) == is_bucket_name(name)


def test_a_name_with_a_dot_is_noted() -> None:
    assert name_note("a.b") is not None and name_note("ab") is None


def test_a_document_that_is_none_says_so() -> None:
    with pytest.raises(NotJson):
        located("[1,]")

"""Threats and faults of the specification: the tests that prove each, and what a later step adds.

`S-` entries are threats, `R-` entries faults (SECURITY_RELIABILITY.md). A test is named by its file
under `tests/` and its function. What has no test yet says which step brings it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Proof(NamedTuple):
    tests: Mapping[str, tuple[str, ...]]
    """Functions by file."""
    later: str = ""


_KILL = "engine/test_kill.py"
_PRESSURE = "engine/test_pressure.py"
_RUN = "engine/test_run.py"
_LIMITS = "engine/test_limits.py"
_HTTP = "providers/test_http.py"
_ADDRESSES = "providers/test_addresses.py"
_REDACTION = "providers/test_secrets.py"
_HOSTILE = "providers/test_hostile_replies.py"
_WAYS = "providers/test_request_variants.py"
_NEARBY = "engine/test_local_server.py"
_STRICT = "doors/test_strict_apis_cli.py"
_DOOR = "doors/test_run_cli.py"
_ANSWERS = "doors/test_run_answers_cli.py"
_SCORE = "doors/test_score_cli.py"
_JOURNAL = "store/test_journal.py"
_STORES = "store/test_contract.py"
_FILES = "store/test_files.py"
_YAML = "store/test_strict_yaml.py"
_SOURCES = "threats/test_sources.py"
_INPUTS = "threats/test_inputs.py"
_SAMENESS = "threats/test_sameness.py"
_FORMATS = "export/test_report_formats.py"
_DOSSIER = "export/test_dossier.py"

PROOFS: Mapping[str, Proof] = {
    "S-01": Proof(
        {
            "judges/test_judge_injection.py": (
                "test_no_attack_gains_anything_with_an_obedient_judge",
                "test_even_a_judge_that_obeys_data_is_caught_by_its_canaries",
                "test_every_attack_is_flagged",
                "test_the_obedient_judge_would_be_misled_by_a_naive_prompt",
                # Entity is scored without a judge; its benchmarks ask one about instructions.
                "test_every_task_is_attacked_and_has_something_to_gain",
            )
        },
        "step 9: the rate of success with a live judge",
    ),
    "S-02": Proof(
        {
            "spec/test_c_qa.py": ("test_c31_another_scale_or_a_score_off_the_scale_is_wrong",),
            "spec/test_c_entity.py": ("test_c43_a_model_cannot_configure_its_own_inventions",),
            "spec/test_c_translation.py": ("test_c70_a_claim_is_no_proof",),
        }
    ),
    "S-03": Proof({}, "step 5: the HTML report; step 6: the web app"),
    "S-04": Proof({_FORMATS: ("test_s04_no_cell_is_a_formula",)}),
    "S-05": Proof(
        {
            _DOSSIER: ("test_s05_a_name_that_no_dossier_has_is_refused",),
            _INPUTS: ("test_s05_ids_and_names_are_never_paths",),
            _FILES: ("test_s05_a_link_is_replaced_and_what_it_leads_to_stays",),
        },
        "step 7: archives",
    ),
    "S-06": Proof(
        {
            _YAML: (
                "test_what_is_refused_is_named_with_its_line",
                "test_a_bomb_of_aliases_is_refused_at_once",
                "test_a_huge_file_is_refused_before_it_is_read",
            ),
            _INPUTS: ("test_s06_a_yaml_bomb_takes_no_memory",),
            "suites/orchestration/test_plan_reading.py": (
                "test_hostile_nesting_is_refused_quickly",
            ),
        }
    ),
    "S-07": Proof(
        {
            _INPUTS: ("test_s07_every_bomb_is_refused_in_words",),
            "spec/test_c_levels.py": (
                "test_c22_json_pitfalls_are_structure_zero_with_their_cause",
            ),
            _FILES: ("test_s10_a_line_that_never_ends_is_refused_without_being_read",),
        }
    ),
    "S-08": Proof(
        {
            _INPUTS: ("test_s08_whatever_models_answer_results_are_strict_json",),
            "doors/test_orchestration_cli.py": (
                "test_nan_and_half_characters_in_an_answer_do_no_harm",
            ),
            "doors/test_honest_runs.py": (
                "test_s08_half_characters_in_records_given_from_python_become_whole_ones",
            ),
        }
    ),
    "S-09": Proof(
        {
            _HTTP: ("test_a_huge_answer_is_not_read",),
            _DOSSIER: ("test_s09_a_bomb_is_refused",),
        }
    ),
    "S-10": Proof(
        {
            _INPUTS: (
                "test_s10_a_transcript_of_a_hundred_megabytes_is_refused_in_little_memory",
                "test_s10_a_million_items_fit_into_a_gigabyte",
            ),
            _FILES: ("test_s10_a_line_that_never_ends_is_refused_without_being_read",),
            _DOOR: ("test_a_dry_run_sends_nothing_and_names_the_price",),
        }
    ),
    "S-11": Proof(
        {
            _SOURCES: ("test_s11_no_pattern_is_slow_on_any_flood",),
            _REDACTION: (
                "test_hostile_bodies_take_no_time",
                "test_s11_a_flood_that_resembles_a_secret_takes_no_time",
            ),
            "judges/test_judge_injection.py": ("test_no_text_takes_long_to_look_at",),
            "judges/test_offline_judge.py": ("test_reading_hostile_text_ends",),
            "suites/orchestration/test_compat.py": ("test_hostile_text_costs_linear_time",),
        }
    ),
    "S-12": Proof(
        {
            _DOOR: ("test_a_key_is_found_nowhere_after_a_run_that_fails_in_every_way",),
            _HTTP: ("test_the_key_travels_in_a_header_and_nowhere_else",),
            _REDACTION: (
                "test_keys_of_every_shape_are_gone",
                "test_s12_a_secret_is_found_however_it_is_written",
                "test_s12_a_successful_answer_that_echoes_the_key_is_redacted",
            ),
            _STRICT: ("test_s12_a_key_in_a_successful_answer_is_stored_and_shown_nowhere",),
            "providers/test_catalog.py": ("test_a_key_file_that_others_may_read_is_refused",),
            "test_eval_config.py": ("test_a_secret_in_the_file_is_refused_and_not_repeated",),
        }
    ),
    "S-13": Proof(
        {_JOURNAL: ("test_only_the_owner_may_read_the_files",)},
        "step 7: redaction, storing without text, purging",
    ),
    "S-14": Proof(
        {
            _ADDRESSES: (
                "test_an_unacceptable_base_url_is_refused_before_anything_is_sent",
                "test_allowing_http_allows_no_metadata",
                "test_the_address_that_a_name_resolves_to_is_checked_at_the_connection",
                "test_the_connection_refuses_addresses_that_no_other_check_saw",
            ),
            _HTTP: ("test_a_redirect_is_not_followed_and_stops_the_model",),
            "threats/test_permissions.py": (
                "test_s14_a_key_goes_nowhere_new_unless_the_user_says_so",
                "test_s14_a_config_that_swaps_the_host_is_refused_with_a_reason",
                "test_s14_the_vendors_own_address_binds_a_key_without_a_question",
                "test_s14_a_key_in_a_file_is_bound_like_one_in_a_variable",
                "test_s14_nothing_is_signed_with_the_aws_credentials_for_a_stranger",
                "test_s14_a_list_that_others_may_write_is_not_believed",
                "test_s14_no_file_outside_of_home_and_project_is_sent_as_a_key",
                "test_s14_in_ci_a_run_is_refused_before_anything_is_sent_and_an_option_lets_it_go",
                "test_s14_at_a_terminal_the_user_is_asked_once",
                "test_s14_calls_go_to_no_new_host_without_a_key_either",
                "test_s14_files_outside_the_project_leave_the_machine_only_with_consent",
                "test_s14_data_of_another_machine_go_to_a_model_only_with_consent",
            ),
        },
    ),
    "S-15": Proof(
        {
            _ADDRESSES: (
                "test_a_key_is_not_sent_to_another_host",
                "test_s15_a_well_known_key_is_sent_to_its_own_domain_only",
                "test_the_usual_key_is_not_sent_to_a_host_that_a_config_names",
            )
        }
    ),
    "S-16": Proof({}, "step 6: the web app"),
    "S-17": Proof(
        {
            _SOURCES: ("test_s17_nothing_is_unpickled_evaluated_or_given_to_a_shell",),
            "embeddings/test_model_files.py": ("test_s17_weights_in_a_pickle_alone_are_refused",),
        }
    ),
    "S-18": Proof(
        {
            _INPUTS: ("test_s18_names_are_data_never_sql",),
            _STORES: ("test_names_are_data_never_sql",),
        }
    ),
    "S-19": Proof(
        {
            _FORMATS: ("test_s19_no_format_emits_an_escape",),
            _SCORE: ("test_untrusted_names_cannot_write_to_the_terminal",),
            "doors/test_orchestration_cli.py": (
                "test_escape_sequences_of_a_model_do_not_reach_the_terminal",
            ),
            "report/test_numbers.py": ("test_text_from_outside_is_one_harmless_line",),
            _SOURCES: ("test_s19_commands_print_through_one_filter",),
            "doors/test_run_scenarios_cli.py": ("test_s19_a_trajectory_speaks_to_no_terminal",),
            "threats/test_terminal.py": (
                "test_s19_no_field_of_a_file_or_a_server_reaches_the_terminal",
                "test_s19_no_word_that_was_typed_reaches_the_terminal",
                "test_s19_a_hostile_config_is_refused_without_being_echoed",
                "test_s19_json_escapes_what_a_terminal_might_obey_and_readers_get_the_same_strings",
                "test_s19_escaping_changes_no_string",
            ),
        }
    ),
    "S-20": Proof(
        {
            _INPUTS: ("test_s20_an_event_is_one_line_whatever_is_in_it",),
            _REDACTION: ("test_an_excerpt_is_one_short_printable_line",),
        }
    ),
    "S-21": Proof(
        {
            _SOURCES: (
                "test_s21_every_locked_package_is_pinned_by_hash",
                "test_s21_importing_everything_reaches_for_no_network",
            ),
            "embeddings/test_model_files.py": (
                "test_s21_a_model_file_that_was_altered_is_refused",
                "test_s21_the_weights_of_muse_have_a_record",
            ),
        }
    ),
    "S-22": Proof({}, "step 5: the verifiable dossier"),
    "S-23": Proof(
        {
            "judges/test_judge_prompt.py": ("test_no_model_is_named_in_any_request",),
            "doors/test_orchestration_judge.py": (
                "test_the_judge_sees_the_conversation_and_no_model",
            ),
            "providers/test_openai.py": ("test_whatever_determines_the_answer_changes_the_key",),
        }
    ),
    "S-24": Proof(
        {
            _PRESSURE: ("test_the_budget_is_never_exceeded_counting_what_is_in_flight",),
            _LIMITS: ("test_a_budget_is_never_exceeded_by_honest_maxima",),
            "doors/test_judge_in_run.py": ("test_models_and_judges_share_one_budget",),
            "doors/test_uncertain_spend.py": (
                "test_s24_what_may_be_billed_counts_against_the_budget_of_a_resumed_run",
                "test_s24_what_was_in_flight_at_a_kill_counts_against_the_budget",
            ),
        },
        "step 9: budgets in calls and tokens beside the one in money",
    ),
    "S-25": Proof({_INPUTS: ("test_s25_text_of_a_dataset_is_in_the_prompt_as_it_is",)}),
    "R-01": Proof(
        {
            _KILL: (
                "test_a_killed_run_goes_on_and_pays_twice_only_for_what_was_in_flight",
                "test_sixty_random_kills_lose_nothing",
            ),
            "engine/test_run.py": (
                "test_r01_a_kill_at_any_moment_repeats_no_more_requests_than_may_be_in_flight",
            ),
            _DOOR: (
                "test_killed_and_resumed_it_pays_once_and_ends_in_the_same_bytes",
                "test_fifty_kills_at_random_moments_lose_nothing",
            ),
        },
        "step 9: five hundred kills",
    ),
    "R-02": Proof(
        {
            "store/test_power_loss.py": (
                "test_every_acknowledged_row_is_there_when_the_power_fails_after_any_commit",
                "test_a_commit_waits_for_the_disk",
            )
        }
    ),
    "R-03": Proof(
        {
            _DOOR: (
                "test_an_interrupt_keeps_what_came_and_says_how_to_go_on",
                "test_an_interrupt_before_the_first_answer_ends_at_once",
            ),
            "doors/test_interrupts.py": (
                "test_r03_an_interrupt_says_at_once_what_is_kept_and_waits_for_what_is_in_flight",
                "test_r03_a_second_interrupt_drops_what_is_in_flight",
                "test_r03_an_interrupt_during_imports_or_while_it_ends_leaves_no_traceback",
            ),
            _PRESSURE: (
                "test_an_interrupt_waits_for_calls_in_flight_to_their_deadline",
                "test_who_is_about_to_be_killed_waits_for_a_short_grace_only",
                "test_a_second_interrupt_ends_at_once",
            ),
        }
    ),
    "R-04": Proof(
        {
            "store/test_full_disk.py": ("test_a_full_disk_ends_the_run_and_loses_no_kept_answer",),
            _FILES: (
                "test_r04_a_disk_that_is_full_leaves_no_part_of_a_report",
                "test_r04_a_folder_that_vanishes_is_said_plainly",
            ),
            _INPUTS: (
                "test_r04_a_log_that_cannot_be_written_is_said_plainly",
                "test_r04_a_log_on_a_full_disk_loses_no_answer_in_flight",
            ),
        }
    ),
    "R-05": Proof(
        {
            _DOOR: ("test_a_folder_that_cannot_be_written_is_refused_before_the_first_call",),
            _FILES: ("test_r05_where_nothing_can_be_written_is_seen_beforehand",),
            "store/test_full_disk.py": (
                "test_a_disk_that_cannot_be_written_is_noticed_before_the_first_call",
                "test_a_read_only_folder_is_refused",
            ),
            "store/test_foreign_stores.py": (
                "test_r05_a_store_that_cannot_be_written_is_listed_and_scored_again",
            ),
        }
    ),
    "R-06": Proof(
        {
            _PRESSURE: (
                "test_a_storm_of_429_pauses_the_key_and_raises_no_herd",
                "test_an_absurd_retry_after_is_capped",
                "test_models_with_the_same_key_pause_together_others_do_not",
            ),
            _LIMITS: ("test_retry_after_is_honoured_up_to_the_cap",),
        }
    ),
    "R-07": Proof(
        {
            _RUN: (
                "test_a_passing_fault_is_repeated_and_leaves_no_trace",
                "test_an_outage_is_a_failure_with_its_cause_never_an_answer",
            ),
            _LIMITS: ("test_jitter_is_full_and_capped", "test_what_is_repeated"),
        }
    ),
    "R-08": Proof(
        {
            _RUN: (
                "test_a_bad_request_is_never_repeated",
                "test_a_model_that_cannot_work_is_stopped_at_once",
                "test_r08_a_key_that_is_refused_is_not_copied_to_another_entry",
            ),
            "evaluate/test_judge_client.py": (
                "test_r08_a_judge_whose_key_is_refused_leaves_another_key_alone",
            ),
            _WAYS: (
                "test_r08_current_apis_answer_every_kind_of_request",
                "test_a_form_that_was_refused_is_not_tried_again_and_the_answer_says_so",
                "test_where_every_form_is_refused_the_call_fails_and_nothing_is_remembered",
            ),
            _STRICT: (
                "test_r08_current_apis_answer_every_case_and_the_card_says_how_they_were_asked",
            ),
            _DOOR: (
                "test_a_wrong_key_shows_before_anything_is_spent",
                "test_without_preflight_a_wrong_key_stops_that_model_alone",
            ),
        }
    ),
    "R-09": Proof(
        {
            _HTTP: (
                "test_what_a_server_does_has_a_word",
                "test_a_hang_ends_at_the_deadline",
                "test_a_slow_drip_ends_at_the_deadline_and_leaves_no_half_answer",
                "test_tls_with_a_server_that_speaks_none_is_a_connection_failure",
            ),
            _NEARBY: (
                "test_r09_a_server_that_takes_20_s_a_call_answers_24_cases_each_asked_once",
                "test_r09_a_server_that_takes_ten_minutes_for_16_calls_times_out_on_none",
                "test_a_timeout_lowers_the_number_of_calls_at_once_and_is_reported",
            ),
            "doors/test_slow_server_cli.py": (
                "test_r09_every_case_is_answered_and_none_is_asked_twice",
            ),
        }
    ),
    "R-10": Proof(
        {
            _HTTP: (
                "test_what_a_server_does_has_a_word",
                "test_a_key_in_an_error_body_is_redacted",
            ),
            "providers/test_openai.py": ("test_no_bytes_make_the_reader_raise",),
            _HOSTILE: (
                "test_r10_no_reply_is_beyond_reading_and_keeping",
                "test_r10_a_count_that_cannot_be_is_unknown",
                "test_r10_a_reply_of_twenty_megabytes_is_read_or_fails",
                "test_r10_hostile_replies_end_no_run",
                "test_r10_ten_thousand_hostile_replies_end_no_run",
                "test_r10_a_hostile_judge_ends_no_run",
                "test_r10_a_hostile_embedder_gives_finite_vectors_or_a_failure",
            ),
            "evaluate/test_judge_client.py": (
                "test_r10_a_judge_whose_adapter_fails_is_a_failure_of_that_call",
            ),
        }
    ),
    "R-11": Proof(
        {
            "spec/test_c_structure.py": (
                "test_c27_what_the_model_did_is_invalid_and_what_the_line_did_is_error",
            ),
            "providers/test_openai.py": ("test_an_answer_is_read_as_it_was_given",),
            "providers/test_gemini.py": ("test_a_blocked_prompt_is_an_answer",),
        }
    ),
    "R-12": Proof(
        {
            "judges/test_judge_parse.py": (
                "test_no_answer_raises_and_none_that_is_invalid_gives_a_verdict",
                "test_the_fuzz_above_meets_answers_with_and_without_verdicts",
            ),
            "judges/test_judge_llm.py": (
                "test_three_times_not_available_is_an_error_never_a_score",
            ),
        }
    ),
    "R-13": Proof({_PRESSURE: ("test_the_engine_looks_at_no_clock_that_can_jump",)}),
    "R-14": Proof(
        {
            _KILL: (
                "test_a_second_process_learns_which_one_holds_the_run_and_takes_over_when_it_is_gone",
                "test_several_processes_write_one_journal_without_loss",
                "test_eight_processes_write_a_thousand_rows_each_without_loss",
            ),
            _DOOR: ("test_the_second_process_learns_which_one_holds_the_run",),
            "doors/test_parallel_runs.py": (
                "test_r14_runs_at_once_pay_once_for_the_same_request",
                "test_r14_a_killed_run_keeps_no_other_run_waiting",
                "test_r14_a_stopped_process_is_waited_for_no_longer_than_a_call_may_take",
                "test_r14_six_runs_of_160_requests_pay_160_but_for_what_is_killed",
            ),
            "store/test_leases.py": (
                "test_a_request_that_another_holds_is_waited_for_and_its_answer_used",
            ),
        }
    ),
    "R-15": Proof({"store/test_run_lock.py": ("test_who_has_certainly_ended",)}),
    "R-16": Proof(
        {
            "store/test_damage.py": (
                "test_a_damaged_file_is_noticed_kept_and_salvaged",
                "test_a_log_broken_in_its_middle_is_noticed_and_read_beyond_the_break",
                "test_which_run_paid_for_an_answer_of_a_judge_is_salvaged",
            ),
            "store/test_foreign_stores.py": (
                "test_r16_an_answer_that_was_forged_is_refused_in_words",
                "test_r16_no_row_ends_a_command_with_a_crash",
            ),
            _ANSWERS: (
                "test_a_damaged_store_is_refused_and_what_is_left_of_it_is_not_paid_for_again",
            ),
        }
    ),
    "R-17": Proof(
        {
            "store/test_migrations.py": (
                "test_a_newer_journal_is_refused",
                "test_an_older_journal_is_backed_up_and_brought_up",
                "test_a_step_that_fails_leaves_the_old_schema_whole",
            ),
            "store/test_foreign_stores.py": (
                "test_r17_an_older_store_that_cannot_be_written_is_read_from_a_copy",
            ),
        }
    ),
    "R-18": Proof(
        {
            _DOOR: (
                "test_data_that_changed_since_is_not_mixed_into_the_old_run",
                "test_only_a_changed_case_is_asked_again",
            ),
            "doors/test_honest_runs.py": (
                "test_r18_resuming_a_changed_file_says_what_would_be_paid_again",
            ),
        },
        "step 9: going on with changed data in the same run; a new run asks changed cases only",
    ),
    "R-19": Proof(
        {
            _PRESSURE: (
                "test_memory_stays_flat_whatever_the_number_of_cases",
                "test_twenty_thousand_cases_hold_no_more_memory_than_one_thousand",
            )
        }
    ),
    "R-20": Proof(
        {
            _SAMENESS: (
                "test_r20_a_slow_judge_is_never_asked_more_than_it_may_and_no_case_starves",
            ),
            _PRESSURE: ("test_a_slow_model_holds_up_no_other",),
            "doors/test_judge_in_run.py": ("test_an_interrupt_while_judging_keeps_what_was_paid",),
        }
    ),
    "R-21": Proof(
        {
            _HTTP: ("test_an_unknown_host_name_is_a_connection_failure_with_advice",),
            "doors/test_judge_cli.py": (
                "test_an_offline_estimate_opens_no_connection",
                "test_a_connection_would_be_noticed",
            ),
        }
    ),
    "R-22": Proof(
        {
            _FILES: ("test_r22_line_ends_marks_and_empty_lines_do_not_matter",),
            _SCORE: ("test_bad_input_gets_one_clear_message_and_leaves_no_file",),
            _YAML: ("test_bytes_that_are_no_text_are_refused_with_their_place",),
        }
    ),
    "R-23": Proof({_SAMENESS: ("test_r23_no_locale_and_no_time_zone_changes_a_byte",)}),
    "R-24": Proof(
        {
            _SAMENESS: (
                "test_r24_no_hash_seed_and_no_number_of_workers_changes_a_byte",
                "test_r24_twenty_runs_give_the_same_bytes",
            ),
            _SCORE: ("test_the_order_of_output_lines_does_not_change_a_byte",),
        }
    ),
    "R-25": Proof(
        {
            _FILES: ("test_r25_a_report_that_cannot_be_finished_leaves_the_old_one",),
            "store/test_written_files.py": (
                "test_r25_a_file_that_is_being_written_has_no_name_to_leave_behind",
            ),
        }
    ),
    "R-26": Proof(
        {
            _ANSWERS: ("test_a_model_that_answers_under_another_name_is_named_in_card_and_json",),
            "doors/test_judge_in_run.py": (
                "test_a_judge_that_answers_under_another_name_is_part_of_the_signature",
            ),
            "evaluate/test_model_identity.py": (
                "test_every_other_name_is_part_of_what_the_model_is",
            ),
        }
    ),
    "R-27": Proof({_JOURNAL: ("test_a_damaged_answer_counts_as_none_and_is_replaced",)}),
    "R-28": Proof(
        {
            _RUN: ("test_an_attempt_has_a_deadline",),
            _PRESSURE: ("test_the_engine_looks_at_no_clock_that_can_jump",),
            "engine/test_deadlines.py": ("test_a_task_goes_on_after_an_attempt_that_was_too_late",),
        }
    ),
}

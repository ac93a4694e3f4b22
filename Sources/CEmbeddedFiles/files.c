// `make golden` writes this file.
#include "CEmbeddedFiles.h"

static const unsigned char file0[] = {
#embed "../AccountAPI/OpenAPI/openapi.json"
};
static const unsigned char file1[] = {
#embed "../AccountAPI/Pages/account-merge.js"
};
static const unsigned char file2[] = {
#embed "../AccountAPI/Pages/account-sections.js"
};
static const unsigned char file3[] = {
#embed "../AccountAPI/Pages/account-tabs.js"
};
static const unsigned char file4[] = {
#embed "../AccountAPI/Pages/account-texts.js"
};
static const unsigned char file5[] = {
#embed "../AccountAPI/Pages/account.css"
};
static const unsigned char file6[] = {
#embed "../AccountAPI/Pages/account.html"
};
static const unsigned char file7[] = {
#embed "../AccountAPI/Pages/account.js"
};
static const unsigned char file8[] = {
#embed "../AccountAPI/Pages/account.json"
};
static const unsigned char file9[] = {
#embed "../AccountAPI/Pages/action.html"
};
static const unsigned char file10[] = {
#embed "../AccountAPI/Pages/action.js"
};
static const unsigned char file11[] = {
#embed "../AccountAPI/Pages/action.json"
};
static const unsigned char file12[] = {
#embed "../AccountAPI/Pages/common.js"
};
static const unsigned char file13[] = {
#embed "../AccountAPI/Pages/conflict.html"
};
static const unsigned char file14[] = {
#embed "../AccountAPI/Pages/handler.html"
};
static const unsigned char file15[] = {
#embed "../AccountAPI/Pages/handler.js"
};
static const unsigned char file16[] = {
#embed "../AccountAPI/Pages/handler.json"
};
static const unsigned char file17[] = {
#embed "../AccountAPI/Pages/icon.svg"
};
static const unsigned char file18[] = {
#embed "../AccountAPI/Pages/iframe.html"
};
static const unsigned char file19[] = {
#embed "../AccountAPI/Pages/iframe.js"
};
static const unsigned char file20[] = {
#embed "../AccountAPI/Pages/inbox.css"
};
static const unsigned char file21[] = {
#embed "../AccountAPI/Pages/inbox.html"
};
static const unsigned char file22[] = {
#embed "../AccountAPI/Pages/inbox.js"
};
static const unsigned char file23[] = {
#embed "../AccountAPI/Pages/native.js"
};
static const unsigned char file24[] = {
#embed "../AccountAPI/Pages/page.css"
};
static const unsigned char file25[] = {
#embed "../AccountAPI/Pages/page.js"
};
static const unsigned char file26[] = {
#embed "../AccountAPI/Pages/provider.css"
};
static const unsigned char file27[] = {
#embed "../AccountAPI/Pages/provider.html"
};
static const unsigned char file28[] = {
#embed "../AccountAPI/Pages/provider.js"
};
static const unsigned char file29[] = {
#embed "../AccountAPI/Pages/service.js"
};
static const unsigned char file30[] = {
#embed "../AccountAPI/Pages/signin.css"
};
static const unsigned char file31[] = {
#embed "../AccountAPI/Pages/signin.html"
};
static const unsigned char file32[] = {
#embed "../AccountAPI/Pages/signin.js"
};
static const unsigned char file33[] = {
#embed "../AccountAPI/Pages/signin.json"
};
static const unsigned char file34[] = {
#embed "../AccountAPI/Pages/strings.json"
};
static const unsigned char file35[] = {
#embed "../AccountOperations/Passwords/common-passwords.txt"
};
static const unsigned char file36[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.en.html"
};
static const unsigned char file37[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.en.txt"
};
static const unsigned char file38[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.th.html"
};
static const unsigned char file39[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.th.txt"
};
static const unsigned char file40[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.zh-TW.html"
};
static const unsigned char file41[] = {
#embed "../Delivery/Templates/ACCOUNTS_MERGED.zh-TW.txt"
};
static const unsigned char file42[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.en.html"
};
static const unsigned char file43[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.en.txt"
};
static const unsigned char file44[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.th.html"
};
static const unsigned char file45[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.th.txt"
};
static const unsigned char file46[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.zh-TW.html"
};
static const unsigned char file47[] = {
#embed "../Delivery/Templates/ADDRESS_IN_USE.zh-TW.txt"
};
static const unsigned char file48[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.en.html"
};
static const unsigned char file49[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.en.txt"
};
static const unsigned char file50[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.th.html"
};
static const unsigned char file51[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.th.txt"
};
static const unsigned char file52[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.zh-TW.html"
};
static const unsigned char file53[] = {
#embed "../Delivery/Templates/CONFLICT_PROOF.zh-TW.txt"
};
static const unsigned char file54[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.en.html"
};
static const unsigned char file55[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.en.txt"
};
static const unsigned char file56[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.th.html"
};
static const unsigned char file57[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.th.txt"
};
static const unsigned char file58[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.zh-TW.html"
};
static const unsigned char file59[] = {
#embed "../Delivery/Templates/EMAIL_SIGNIN.zh-TW.txt"
};
static const unsigned char file60[] = {
#embed "../Delivery/Templates/LOOKUP.en.html"
};
static const unsigned char file61[] = {
#embed "../Delivery/Templates/LOOKUP.en.txt"
};
static const unsigned char file62[] = {
#embed "../Delivery/Templates/LOOKUP.th.html"
};
static const unsigned char file63[] = {
#embed "../Delivery/Templates/LOOKUP.th.txt"
};
static const unsigned char file64[] = {
#embed "../Delivery/Templates/LOOKUP.zh-TW.html"
};
static const unsigned char file65[] = {
#embed "../Delivery/Templates/LOOKUP.zh-TW.txt"
};
static const unsigned char file66[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.en.html"
};
static const unsigned char file67[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.en.txt"
};
static const unsigned char file68[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.th.html"
};
static const unsigned char file69[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.th.txt"
};
static const unsigned char file70[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.zh-TW.html"
};
static const unsigned char file71[] = {
#embed "../Delivery/Templates/MERGE_UNDONE.zh-TW.txt"
};
static const unsigned char file72[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.en.html"
};
static const unsigned char file73[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.en.txt"
};
static const unsigned char file74[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.th.html"
};
static const unsigned char file75[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.th.txt"
};
static const unsigned char file76[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.zh-TW.html"
};
static const unsigned char file77[] = {
#embed "../Delivery/Templates/METHODS_QUARANTINED.zh-TW.txt"
};
static const unsigned char file78[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.en.html"
};
static const unsigned char file79[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.en.txt"
};
static const unsigned char file80[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.th.html"
};
static const unsigned char file81[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.th.txt"
};
static const unsigned char file82[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.zh-TW.html"
};
static const unsigned char file83[] = {
#embed "../Delivery/Templates/PASSWORD_RESET.zh-TW.txt"
};
static const unsigned char file84[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.en.html"
};
static const unsigned char file85[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.en.txt"
};
static const unsigned char file86[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.th.html"
};
static const unsigned char file87[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.th.txt"
};
static const unsigned char file88[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.zh-TW.html"
};
static const unsigned char file89[] = {
#embed "../Delivery/Templates/RECOVER_EMAIL.zh-TW.txt"
};
static const unsigned char file90[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.en.html"
};
static const unsigned char file91[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.en.txt"
};
static const unsigned char file92[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.th.html"
};
static const unsigned char file93[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.th.txt"
};
static const unsigned char file94[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.zh-TW.html"
};
static const unsigned char file95[] = {
#embed "../Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.zh-TW.txt"
};
static const unsigned char file96[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.en.html"
};
static const unsigned char file97[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.en.txt"
};
static const unsigned char file98[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.th.html"
};
static const unsigned char file99[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.th.txt"
};
static const unsigned char file100[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.zh-TW.html"
};
static const unsigned char file101[] = {
#embed "../Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.zh-TW.txt"
};
static const unsigned char file102[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.en.html"
};
static const unsigned char file103[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.en.txt"
};
static const unsigned char file104[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.th.html"
};
static const unsigned char file105[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.th.txt"
};
static const unsigned char file106[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.zh-TW.html"
};
static const unsigned char file107[] = {
#embed "../Delivery/Templates/SIGN_IN_METHODS_CHANGED.zh-TW.txt"
};
static const unsigned char file108[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.en.html"
};
static const unsigned char file109[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.en.txt"
};
static const unsigned char file110[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.th.html"
};
static const unsigned char file111[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.th.txt"
};
static const unsigned char file112[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.zh-TW.html"
};
static const unsigned char file113[] = {
#embed "../Delivery/Templates/SIGN_UP_MAILBOX.zh-TW.txt"
};
static const unsigned char file114[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.en.html"
};
static const unsigned char file115[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.en.txt"
};
static const unsigned char file116[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.th.html"
};
static const unsigned char file117[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.th.txt"
};
static const unsigned char file118[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.zh-TW.html"
};
static const unsigned char file119[] = {
#embed "../Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.zh-TW.txt"
};
static const unsigned char file120[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.en.html"
};
static const unsigned char file121[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.en.txt"
};
static const unsigned char file122[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.th.html"
};
static const unsigned char file123[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.th.txt"
};
static const unsigned char file124[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.zh-TW.html"
};
static const unsigned char file125[] = {
#embed "../Delivery/Templates/VERIFY_EMAIL.zh-TW.txt"
};
static const unsigned char file126[] = {
#embed "../Delivery/Templates/WRONG_DOOR.en.html"
};
static const unsigned char file127[] = {
#embed "../Delivery/Templates/WRONG_DOOR.en.txt"
};
static const unsigned char file128[] = {
#embed "../Delivery/Templates/WRONG_DOOR.th.html"
};
static const unsigned char file129[] = {
#embed "../Delivery/Templates/WRONG_DOOR.th.txt"
};
static const unsigned char file130[] = {
#embed "../Delivery/Templates/WRONG_DOOR.zh-TW.html"
};
static const unsigned char file131[] = {
#embed "../Delivery/Templates/WRONG_DOOR.zh-TW.txt"
};
static const unsigned char file132[] = {
#embed "../Delivery/Templates/layout.html"
};
static const unsigned char file133[] = {
#embed "../../migrations/0001_project.down.sql"
};
static const unsigned char file134[] = {
#embed "../../migrations/0001_project.up.sql"
};
static const unsigned char file135[] = {
#embed "../../migrations/0002_users.down.sql"
};
static const unsigned char file136[] = {
#embed "../../migrations/0002_users.up.sql"
};
static const unsigned char file137[] = {
#embed "../../migrations/0003_sessions.down.sql"
};
static const unsigned char file138[] = {
#embed "../../migrations/0003_sessions.up.sql"
};
static const unsigned char file139[] = {
#embed "../../migrations/0004_account_events.down.sql"
};
static const unsigned char file140[] = {
#embed "../../migrations/0004_account_events.up.sql"
};
static const unsigned char file141[] = {
#embed "../../migrations/0005_conflicts.down.sql"
};
static const unsigned char file142[] = {
#embed "../../migrations/0005_conflicts.up.sql"
};
static const unsigned char file143[] = {
#embed "../../migrations/0006_provider_configs.down.sql"
};
static const unsigned char file144[] = {
#embed "../../migrations/0006_provider_configs.up.sql"
};
static const unsigned char file145[] = {
#embed "../../migrations/0007_email_codes.down.sql"
};
static const unsigned char file146[] = {
#embed "../../migrations/0007_email_codes.up.sql"
};
static const unsigned char file147[] = {
#embed "../../migrations/0008_service_accounts.down.sql"
};
static const unsigned char file148[] = {
#embed "../../migrations/0008_service_accounts.up.sql"
};
static const unsigned char file149[] = {
#embed "../../migrations/0009_upkeep.down.sql"
};
static const unsigned char file150[] = {
#embed "../../migrations/0009_upkeep.up.sql"
};
static const unsigned char file151[] = {
#embed "../../migrations/0010_conflict_life.down.sql"
};
static const unsigned char file152[] = {
#embed "../../migrations/0010_conflict_life.up.sql"
};
static const unsigned char file153[] = {
#embed "../../migrations/0011_explanations.down.sql"
};
static const unsigned char file154[] = {
#embed "../../migrations/0011_explanations.up.sql"
};
static const unsigned char file155[] = {
#embed "../../migrations/0012_kept_answers.down.sql"
};
static const unsigned char file156[] = {
#embed "../../migrations/0012_kept_answers.up.sql"
};
static const unsigned char file157[] = {
#embed "../../migrations/0013_conflict_metrics.down.sql"
};
static const unsigned char file158[] = {
#embed "../../migrations/0013_conflict_metrics.up.sql"
};
static const unsigned char file159[] = {
#embed "../../migrations/0014_webhooks.down.sql"
};
static const unsigned char file160[] = {
#embed "../../migrations/0014_webhooks.up.sql"
};
static const unsigned char file161[] = {
#embed "../../migrations/0015_quarantine.down.sql"
};
static const unsigned char file162[] = {
#embed "../../migrations/0015_quarantine.up.sql"
};
static const unsigned char file163[] = {
#embed "../../migrations/0016_proof_mails.down.sql"
};
static const unsigned char file164[] = {
#embed "../../migrations/0016_proof_mails.up.sql"
};
static const unsigned char file165[] = {
#embed "../../migrations/0017_webhook_versions.down.sql"
};
static const unsigned char file166[] = {
#embed "../../migrations/0017_webhook_versions.up.sql"
};
static const unsigned char file167[] = {
#embed "../../migrations/0018_proven_conflicts.down.sql"
};
static const unsigned char file168[] = {
#embed "../../migrations/0018_proven_conflicts.up.sql"
};
static const unsigned char file169[] = {
#embed "../../migrations/0019_sealed_requests.down.sql"
};
static const unsigned char file170[] = {
#embed "../../migrations/0019_sealed_requests.up.sql"
};
static const unsigned char file171[] = {
#embed "../../migrations/0020_provider_flows.down.sql"
};
static const unsigned char file172[] = {
#embed "../../migrations/0020_provider_flows.up.sql"
};
static const unsigned char file173[] = {
#embed "../../migrations/0021_outbox_delivery.down.sql"
};
static const unsigned char file174[] = {
#embed "../../migrations/0021_outbox_delivery.up.sql"
};
static const unsigned char file175[] = {
#embed "../../migrations/0022_phones.down.sql"
};
static const unsigned char file176[] = {
#embed "../../migrations/0022_phones.up.sql"
};
static const unsigned char file177[] = {
#embed "../../migrations/0023_short_codes.down.sql"
};
static const unsigned char file178[] = {
#embed "../../migrations/0023_short_codes.up.sql"
};
static const unsigned char file179[] = {
#embed "../../migrations/0024_second_factors.down.sql"
};
static const unsigned char file180[] = {
#embed "../../migrations/0024_second_factors.up.sql"
};
static const unsigned char file181[] = {
#embed "../../migrations/0025_mailboxes_and_phones.down.sql"
};
static const unsigned char file182[] = {
#embed "../../migrations/0025_mailboxes_and_phones.up.sql"
};
static const unsigned char file183[] = {
#embed "../../migrations/0026_imports.down.sql"
};
static const unsigned char file184[] = {
#embed "../../migrations/0026_imports.up.sql"
};
static const unsigned char file185[] = {
#embed "../../migrations/0027_account_journal.down.sql"
};
static const unsigned char file186[] = {
#embed "../../migrations/0027_account_journal.up.sql"
};
static const unsigned char file187[] = {
#embed "../../migrations/0028_merges.down.sql"
};
static const unsigned char file188[] = {
#embed "../../migrations/0028_merges.up.sql"
};
static const unsigned char file189[] = {
#embed "../../migrations/0029_audit_plans.down.sql"
};
static const unsigned char file190[] = {
#embed "../../migrations/0029_audit_plans.up.sql"
};
static const unsigned char file191[] = {
#embed "../../migrations/0030_webhooks_by_endpoint.down.sql"
};
static const unsigned char file192[] = {
#embed "../../migrations/0030_webhooks_by_endpoint.up.sql"
};
static const unsigned char file193[] = {
#embed "../../migrations/0031_link_policy_preset.down.sql"
};
static const unsigned char file194[] = {
#embed "../../migrations/0031_link_policy_preset.up.sql"
};
static const unsigned char file195[] = {
#embed "../../migrations/0032_email_domains.down.sql"
};
static const unsigned char file196[] = {
#embed "../../migrations/0032_email_domains.up.sql"
};
static const unsigned char file197[] = {
#embed "../../migrations/0033_sign_in_times.down.sql"
};
static const unsigned char file198[] = {
#embed "../../migrations/0033_sign_in_times.up.sql"
};
static const unsigned char file199[] = {
#embed "../../migrations/0034_discarded_messages.down.sql"
};
static const unsigned char file200[] = {
#embed "../../migrations/0034_discarded_messages.up.sql"
};
static const unsigned char file201[] = {
#embed "../../migrations/0035_conflicts_by_time.down.sql"
};
static const unsigned char file202[] = {
#embed "../../migrations/0035_conflicts_by_time.up.sql"
};
static const unsigned char file203[] = {
#embed "../../migrations/0036_reserved_addresses.down.sql"
};
static const unsigned char file204[] = {
#embed "../../migrations/0036_reserved_addresses.up.sql"
};
static const unsigned char file205[] = {
#embed "../../migrations/0037_validated_checks.down.sql"
};
static const unsigned char file206[] = {
#embed "../../migrations/0037_validated_checks.up.sql"
};
static const unsigned char file207[] = {
#embed "../../migrations/0038_reservations_of_codes.down.sql"
};
static const unsigned char file208[] = {
#embed "../../migrations/0038_reservations_of_codes.up.sql"
};
static const unsigned char file209[] = {
#embed "../../migrations/0039_policy_authors.down.sql"
};
static const unsigned char file210[] = {
#embed "../../migrations/0039_policy_authors.up.sql"
};
static const unsigned char file211[] = {
#embed "../../migrations/0040_first_proofs.down.sql"
};
static const unsigned char file212[] = {
#embed "../../migrations/0040_first_proofs.up.sql"
};
static const unsigned char file213[] = {
#embed "../../migrations/0041_sessions_by_time.down.sql"
};
static const unsigned char file214[] = {
#embed "../../migrations/0041_sessions_by_time.up.sql"
};
static const unsigned char file215[] = {
#embed "../../migrations/0042_password_sources.down.sql"
};
static const unsigned char file216[] = {
#embed "../../migrations/0042_password_sources.up.sql"
};
static const unsigned char file217[] = {
#embed "../../migrations/0043_method_changes.down.sql"
};
static const unsigned char file218[] = {
#embed "../../migrations/0043_method_changes.up.sql"
};
static const unsigned char file219[] = {
#embed "../../migrations/0044_project_images.down.sql"
};
static const unsigned char file220[] = {
#embed "../../migrations/0044_project_images.up.sql"
};
static const unsigned char file221[] = {
#embed "../../migrations/0045_conflict_returns.down.sql"
};
static const unsigned char file222[] = {
#embed "../../migrations/0045_conflict_returns.up.sql"
};
static const unsigned char file223[] = {
#embed "../../migrations/0046_event_months.down.sql"
};
static const unsigned char file224[] = {
#embed "../../migrations/0046_event_months.up.sql"
};
static const unsigned char file225[] = {
#embed "../../migrations/0047_duties.down.sql"
};
static const unsigned char file226[] = {
#embed "../../migrations/0047_duties.up.sql"
};
static const unsigned char file227[] = {
#embed "../../migrations/0048_sessions_by_day.down.sql"
};
static const unsigned char file228[] = {
#embed "../../migrations/0048_sessions_by_day.up.sql"
};
static const unsigned char file229[] = {
#embed "../../migrations/0049_linked_provider_room.down.sql"
};
static const unsigned char file230[] = {
#embed "../../migrations/0049_linked_provider_room.up.sql"
};
static const unsigned char file231[] = {
#embed "../../migrations/0050_conflict_return_codes.down.sql"
};
static const unsigned char file232[] = {
#embed "../../migrations/0050_conflict_return_codes.up.sql"
};
static const unsigned char file233[] = {
#embed "../../migrations/0051_users_by_creation.down.sql"
};
static const unsigned char file234[] = {
#embed "../../migrations/0051_users_by_creation.up.sql"
};
static const unsigned char file235[] = {
#embed "../../migrations/0052_issuers_in_use.down.sql"
};
static const unsigned char file236[] = {
#embed "../../migrations/0052_issuers_in_use.up.sql"
};
static const unsigned char file237[] = {
#embed "../../migrations/0053_conflict_returns_without_unique_code.down.sql"
};
static const unsigned char file238[] = {
#embed "../../migrations/0053_conflict_returns_without_unique_code.up.sql"
};
static const unsigned char file239[] = {
#embed "../../migrations/0054_password_sources_by_address.down.sql"
};
static const unsigned char file240[] = {
#embed "../../migrations/0054_password_sources_by_address.up.sql"
};
static const unsigned char file241[] = {
#embed "../../migrations/0055_lookup_codes.down.sql"
};
static const unsigned char file242[] = {
#embed "../../migrations/0055_lookup_codes.up.sql"
};
static const unsigned char file243[] = {
#embed "../../migrations/0056_devices.down.sql"
};
static const unsigned char file244[] = {
#embed "../../migrations/0056_devices.up.sql"
};
static const unsigned char file245[] = {
#embed "../../migrations/0057_pending_sign_ups.down.sql"
};
static const unsigned char file246[] = {
#embed "../../migrations/0057_pending_sign_ups.up.sql"
};
static const unsigned char file247[] = {
#embed "../../migrations/0058_sign_in_returns.down.sql"
};
static const unsigned char file248[] = {
#embed "../../migrations/0058_sign_in_returns.up.sql"
};
static const unsigned char file249[] = {
#embed "../../migrations/0059_validated_code_checks.down.sql"
};
static const unsigned char file250[] = {
#embed "../../migrations/0059_validated_code_checks.up.sql"
};

static const CEmbeddedFile files[] = {
    {"Sources/AccountAPI/OpenAPI/openapi.json", file0, sizeof file0},
    {"Sources/AccountAPI/Pages/account-merge.js", file1, sizeof file1},
    {"Sources/AccountAPI/Pages/account-sections.js", file2, sizeof file2},
    {"Sources/AccountAPI/Pages/account-tabs.js", file3, sizeof file3},
    {"Sources/AccountAPI/Pages/account-texts.js", file4, sizeof file4},
    {"Sources/AccountAPI/Pages/account.css", file5, sizeof file5},
    {"Sources/AccountAPI/Pages/account.html", file6, sizeof file6},
    {"Sources/AccountAPI/Pages/account.js", file7, sizeof file7},
    {"Sources/AccountAPI/Pages/account.json", file8, sizeof file8},
    {"Sources/AccountAPI/Pages/action.html", file9, sizeof file9},
    {"Sources/AccountAPI/Pages/action.js", file10, sizeof file10},
    {"Sources/AccountAPI/Pages/action.json", file11, sizeof file11},
    {"Sources/AccountAPI/Pages/common.js", file12, sizeof file12},
    {"Sources/AccountAPI/Pages/conflict.html", file13, sizeof file13},
    {"Sources/AccountAPI/Pages/handler.html", file14, sizeof file14},
    {"Sources/AccountAPI/Pages/handler.js", file15, sizeof file15},
    {"Sources/AccountAPI/Pages/handler.json", file16, sizeof file16},
    {"Sources/AccountAPI/Pages/icon.svg", file17, sizeof file17},
    {"Sources/AccountAPI/Pages/iframe.html", file18, sizeof file18},
    {"Sources/AccountAPI/Pages/iframe.js", file19, sizeof file19},
    {"Sources/AccountAPI/Pages/inbox.css", file20, sizeof file20},
    {"Sources/AccountAPI/Pages/inbox.html", file21, sizeof file21},
    {"Sources/AccountAPI/Pages/inbox.js", file22, sizeof file22},
    {"Sources/AccountAPI/Pages/native.js", file23, sizeof file23},
    {"Sources/AccountAPI/Pages/page.css", file24, sizeof file24},
    {"Sources/AccountAPI/Pages/page.js", file25, sizeof file25},
    {"Sources/AccountAPI/Pages/provider.css", file26, sizeof file26},
    {"Sources/AccountAPI/Pages/provider.html", file27, sizeof file27},
    {"Sources/AccountAPI/Pages/provider.js", file28, sizeof file28},
    {"Sources/AccountAPI/Pages/service.js", file29, sizeof file29},
    {"Sources/AccountAPI/Pages/signin.css", file30, sizeof file30},
    {"Sources/AccountAPI/Pages/signin.html", file31, sizeof file31},
    {"Sources/AccountAPI/Pages/signin.js", file32, sizeof file32},
    {"Sources/AccountAPI/Pages/signin.json", file33, sizeof file33},
    {"Sources/AccountAPI/Pages/strings.json", file34, sizeof file34},
    {"Sources/AccountOperations/Passwords/common-passwords.txt", file35, sizeof file35},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.en.html", file36, sizeof file36},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.en.txt", file37, sizeof file37},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.th.html", file38, sizeof file38},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.th.txt", file39, sizeof file39},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.zh-TW.html", file40, sizeof file40},
    {"Sources/Delivery/Templates/ACCOUNTS_MERGED.zh-TW.txt", file41, sizeof file41},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.en.html", file42, sizeof file42},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.en.txt", file43, sizeof file43},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.th.html", file44, sizeof file44},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.th.txt", file45, sizeof file45},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.zh-TW.html", file46, sizeof file46},
    {"Sources/Delivery/Templates/ADDRESS_IN_USE.zh-TW.txt", file47, sizeof file47},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.en.html", file48, sizeof file48},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.en.txt", file49, sizeof file49},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.th.html", file50, sizeof file50},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.th.txt", file51, sizeof file51},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.zh-TW.html", file52, sizeof file52},
    {"Sources/Delivery/Templates/CONFLICT_PROOF.zh-TW.txt", file53, sizeof file53},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.en.html", file54, sizeof file54},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.en.txt", file55, sizeof file55},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.th.html", file56, sizeof file56},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.th.txt", file57, sizeof file57},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.zh-TW.html", file58, sizeof file58},
    {"Sources/Delivery/Templates/EMAIL_SIGNIN.zh-TW.txt", file59, sizeof file59},
    {"Sources/Delivery/Templates/LOOKUP.en.html", file60, sizeof file60},
    {"Sources/Delivery/Templates/LOOKUP.en.txt", file61, sizeof file61},
    {"Sources/Delivery/Templates/LOOKUP.th.html", file62, sizeof file62},
    {"Sources/Delivery/Templates/LOOKUP.th.txt", file63, sizeof file63},
    {"Sources/Delivery/Templates/LOOKUP.zh-TW.html", file64, sizeof file64},
    {"Sources/Delivery/Templates/LOOKUP.zh-TW.txt", file65, sizeof file65},
    {"Sources/Delivery/Templates/MERGE_UNDONE.en.html", file66, sizeof file66},
    {"Sources/Delivery/Templates/MERGE_UNDONE.en.txt", file67, sizeof file67},
    {"Sources/Delivery/Templates/MERGE_UNDONE.th.html", file68, sizeof file68},
    {"Sources/Delivery/Templates/MERGE_UNDONE.th.txt", file69, sizeof file69},
    {"Sources/Delivery/Templates/MERGE_UNDONE.zh-TW.html", file70, sizeof file70},
    {"Sources/Delivery/Templates/MERGE_UNDONE.zh-TW.txt", file71, sizeof file71},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.en.html", file72, sizeof file72},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.en.txt", file73, sizeof file73},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.th.html", file74, sizeof file74},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.th.txt", file75, sizeof file75},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.zh-TW.html", file76, sizeof file76},
    {"Sources/Delivery/Templates/METHODS_QUARANTINED.zh-TW.txt", file77, sizeof file77},
    {"Sources/Delivery/Templates/PASSWORD_RESET.en.html", file78, sizeof file78},
    {"Sources/Delivery/Templates/PASSWORD_RESET.en.txt", file79, sizeof file79},
    {"Sources/Delivery/Templates/PASSWORD_RESET.th.html", file80, sizeof file80},
    {"Sources/Delivery/Templates/PASSWORD_RESET.th.txt", file81, sizeof file81},
    {"Sources/Delivery/Templates/PASSWORD_RESET.zh-TW.html", file82, sizeof file82},
    {"Sources/Delivery/Templates/PASSWORD_RESET.zh-TW.txt", file83, sizeof file83},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.en.html", file84, sizeof file84},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.en.txt", file85, sizeof file85},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.th.html", file86, sizeof file86},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.th.txt", file87, sizeof file87},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.zh-TW.html", file88, sizeof file88},
    {"Sources/Delivery/Templates/RECOVER_EMAIL.zh-TW.txt", file89, sizeof file89},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.en.html", file90, sizeof file90},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.en.txt", file91, sizeof file91},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.th.html", file92, sizeof file92},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.th.txt", file93, sizeof file93},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.zh-TW.html", file94, sizeof file94},
    {"Sources/Delivery/Templates/REVERT_SECOND_FACTOR_ADDITION.zh-TW.txt", file95, sizeof file95},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.en.html", file96, sizeof file96},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.en.txt", file97, sizeof file97},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.th.html", file98, sizeof file98},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.th.txt", file99, sizeof file99},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.zh-TW.html", file100, sizeof file100},
    {"Sources/Delivery/Templates/REVERT_SIGN_IN_METHOD_CHANGE.zh-TW.txt", file101, sizeof file101},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.en.html", file102, sizeof file102},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.en.txt", file103, sizeof file103},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.th.html", file104, sizeof file104},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.th.txt", file105, sizeof file105},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.zh-TW.html", file106, sizeof file106},
    {"Sources/Delivery/Templates/SIGN_IN_METHODS_CHANGED.zh-TW.txt", file107, sizeof file107},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.en.html", file108, sizeof file108},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.en.txt", file109, sizeof file109},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.th.html", file110, sizeof file110},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.th.txt", file111, sizeof file111},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.zh-TW.html", file112, sizeof file112},
    {"Sources/Delivery/Templates/SIGN_UP_MAILBOX.zh-TW.txt", file113, sizeof file113},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.en.html", file114, sizeof file114},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.en.txt", file115, sizeof file115},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.th.html", file116, sizeof file116},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.th.txt", file117, sizeof file117},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.zh-TW.html", file118, sizeof file118},
    {"Sources/Delivery/Templates/VERIFY_AND_CHANGE_EMAIL.zh-TW.txt", file119, sizeof file119},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.en.html", file120, sizeof file120},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.en.txt", file121, sizeof file121},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.th.html", file122, sizeof file122},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.th.txt", file123, sizeof file123},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.zh-TW.html", file124, sizeof file124},
    {"Sources/Delivery/Templates/VERIFY_EMAIL.zh-TW.txt", file125, sizeof file125},
    {"Sources/Delivery/Templates/WRONG_DOOR.en.html", file126, sizeof file126},
    {"Sources/Delivery/Templates/WRONG_DOOR.en.txt", file127, sizeof file127},
    {"Sources/Delivery/Templates/WRONG_DOOR.th.html", file128, sizeof file128},
    {"Sources/Delivery/Templates/WRONG_DOOR.th.txt", file129, sizeof file129},
    {"Sources/Delivery/Templates/WRONG_DOOR.zh-TW.html", file130, sizeof file130},
    {"Sources/Delivery/Templates/WRONG_DOOR.zh-TW.txt", file131, sizeof file131},
    {"Sources/Delivery/Templates/layout.html", file132, sizeof file132},
    {"migrations/0001_project.down.sql", file133, sizeof file133},
    {"migrations/0001_project.up.sql", file134, sizeof file134},
    {"migrations/0002_users.down.sql", file135, sizeof file135},
    {"migrations/0002_users.up.sql", file136, sizeof file136},
    {"migrations/0003_sessions.down.sql", file137, sizeof file137},
    {"migrations/0003_sessions.up.sql", file138, sizeof file138},
    {"migrations/0004_account_events.down.sql", file139, sizeof file139},
    {"migrations/0004_account_events.up.sql", file140, sizeof file140},
    {"migrations/0005_conflicts.down.sql", file141, sizeof file141},
    {"migrations/0005_conflicts.up.sql", file142, sizeof file142},
    {"migrations/0006_provider_configs.down.sql", file143, sizeof file143},
    {"migrations/0006_provider_configs.up.sql", file144, sizeof file144},
    {"migrations/0007_email_codes.down.sql", file145, sizeof file145},
    {"migrations/0007_email_codes.up.sql", file146, sizeof file146},
    {"migrations/0008_service_accounts.down.sql", file147, sizeof file147},
    {"migrations/0008_service_accounts.up.sql", file148, sizeof file148},
    {"migrations/0009_upkeep.down.sql", file149, sizeof file149},
    {"migrations/0009_upkeep.up.sql", file150, sizeof file150},
    {"migrations/0010_conflict_life.down.sql", file151, sizeof file151},
    {"migrations/0010_conflict_life.up.sql", file152, sizeof file152},
    {"migrations/0011_explanations.down.sql", file153, sizeof file153},
    {"migrations/0011_explanations.up.sql", file154, sizeof file154},
    {"migrations/0012_kept_answers.down.sql", file155, sizeof file155},
    {"migrations/0012_kept_answers.up.sql", file156, sizeof file156},
    {"migrations/0013_conflict_metrics.down.sql", file157, sizeof file157},
    {"migrations/0013_conflict_metrics.up.sql", file158, sizeof file158},
    {"migrations/0014_webhooks.down.sql", file159, sizeof file159},
    {"migrations/0014_webhooks.up.sql", file160, sizeof file160},
    {"migrations/0015_quarantine.down.sql", file161, sizeof file161},
    {"migrations/0015_quarantine.up.sql", file162, sizeof file162},
    {"migrations/0016_proof_mails.down.sql", file163, sizeof file163},
    {"migrations/0016_proof_mails.up.sql", file164, sizeof file164},
    {"migrations/0017_webhook_versions.down.sql", file165, sizeof file165},
    {"migrations/0017_webhook_versions.up.sql", file166, sizeof file166},
    {"migrations/0018_proven_conflicts.down.sql", file167, sizeof file167},
    {"migrations/0018_proven_conflicts.up.sql", file168, sizeof file168},
    {"migrations/0019_sealed_requests.down.sql", file169, sizeof file169},
    {"migrations/0019_sealed_requests.up.sql", file170, sizeof file170},
    {"migrations/0020_provider_flows.down.sql", file171, sizeof file171},
    {"migrations/0020_provider_flows.up.sql", file172, sizeof file172},
    {"migrations/0021_outbox_delivery.down.sql", file173, sizeof file173},
    {"migrations/0021_outbox_delivery.up.sql", file174, sizeof file174},
    {"migrations/0022_phones.down.sql", file175, sizeof file175},
    {"migrations/0022_phones.up.sql", file176, sizeof file176},
    {"migrations/0023_short_codes.down.sql", file177, sizeof file177},
    {"migrations/0023_short_codes.up.sql", file178, sizeof file178},
    {"migrations/0024_second_factors.down.sql", file179, sizeof file179},
    {"migrations/0024_second_factors.up.sql", file180, sizeof file180},
    {"migrations/0025_mailboxes_and_phones.down.sql", file181, sizeof file181},
    {"migrations/0025_mailboxes_and_phones.up.sql", file182, sizeof file182},
    {"migrations/0026_imports.down.sql", file183, sizeof file183},
    {"migrations/0026_imports.up.sql", file184, sizeof file184},
    {"migrations/0027_account_journal.down.sql", file185, sizeof file185},
    {"migrations/0027_account_journal.up.sql", file186, sizeof file186},
    {"migrations/0028_merges.down.sql", file187, sizeof file187},
    {"migrations/0028_merges.up.sql", file188, sizeof file188},
    {"migrations/0029_audit_plans.down.sql", file189, sizeof file189},
    {"migrations/0029_audit_plans.up.sql", file190, sizeof file190},
    {"migrations/0030_webhooks_by_endpoint.down.sql", file191, sizeof file191},
    {"migrations/0030_webhooks_by_endpoint.up.sql", file192, sizeof file192},
    {"migrations/0031_link_policy_preset.down.sql", file193, sizeof file193},
    {"migrations/0031_link_policy_preset.up.sql", file194, sizeof file194},
    {"migrations/0032_email_domains.down.sql", file195, sizeof file195},
    {"migrations/0032_email_domains.up.sql", file196, sizeof file196},
    {"migrations/0033_sign_in_times.down.sql", file197, sizeof file197},
    {"migrations/0033_sign_in_times.up.sql", file198, sizeof file198},
    {"migrations/0034_discarded_messages.down.sql", file199, sizeof file199},
    {"migrations/0034_discarded_messages.up.sql", file200, sizeof file200},
    {"migrations/0035_conflicts_by_time.down.sql", file201, sizeof file201},
    {"migrations/0035_conflicts_by_time.up.sql", file202, sizeof file202},
    {"migrations/0036_reserved_addresses.down.sql", file203, sizeof file203},
    {"migrations/0036_reserved_addresses.up.sql", file204, sizeof file204},
    {"migrations/0037_validated_checks.down.sql", file205, sizeof file205},
    {"migrations/0037_validated_checks.up.sql", file206, sizeof file206},
    {"migrations/0038_reservations_of_codes.down.sql", file207, sizeof file207},
    {"migrations/0038_reservations_of_codes.up.sql", file208, sizeof file208},
    {"migrations/0039_policy_authors.down.sql", file209, sizeof file209},
    {"migrations/0039_policy_authors.up.sql", file210, sizeof file210},
    {"migrations/0040_first_proofs.down.sql", file211, sizeof file211},
    {"migrations/0040_first_proofs.up.sql", file212, sizeof file212},
    {"migrations/0041_sessions_by_time.down.sql", file213, sizeof file213},
    {"migrations/0041_sessions_by_time.up.sql", file214, sizeof file214},
    {"migrations/0042_password_sources.down.sql", file215, sizeof file215},
    {"migrations/0042_password_sources.up.sql", file216, sizeof file216},
    {"migrations/0043_method_changes.down.sql", file217, sizeof file217},
    {"migrations/0043_method_changes.up.sql", file218, sizeof file218},
    {"migrations/0044_project_images.down.sql", file219, sizeof file219},
    {"migrations/0044_project_images.up.sql", file220, sizeof file220},
    {"migrations/0045_conflict_returns.down.sql", file221, sizeof file221},
    {"migrations/0045_conflict_returns.up.sql", file222, sizeof file222},
    {"migrations/0046_event_months.down.sql", file223, sizeof file223},
    {"migrations/0046_event_months.up.sql", file224, sizeof file224},
    {"migrations/0047_duties.down.sql", file225, sizeof file225},
    {"migrations/0047_duties.up.sql", file226, sizeof file226},
    {"migrations/0048_sessions_by_day.down.sql", file227, sizeof file227},
    {"migrations/0048_sessions_by_day.up.sql", file228, sizeof file228},
    {"migrations/0049_linked_provider_room.down.sql", file229, sizeof file229},
    {"migrations/0049_linked_provider_room.up.sql", file230, sizeof file230},
    {"migrations/0050_conflict_return_codes.down.sql", file231, sizeof file231},
    {"migrations/0050_conflict_return_codes.up.sql", file232, sizeof file232},
    {"migrations/0051_users_by_creation.down.sql", file233, sizeof file233},
    {"migrations/0051_users_by_creation.up.sql", file234, sizeof file234},
    {"migrations/0052_issuers_in_use.down.sql", file235, sizeof file235},
    {"migrations/0052_issuers_in_use.up.sql", file236, sizeof file236},
    {"migrations/0053_conflict_returns_without_unique_code.down.sql", file237, sizeof file237},
    {"migrations/0053_conflict_returns_without_unique_code.up.sql", file238, sizeof file238},
    {"migrations/0054_password_sources_by_address.down.sql", file239, sizeof file239},
    {"migrations/0054_password_sources_by_address.up.sql", file240, sizeof file240},
    {"migrations/0055_lookup_codes.down.sql", file241, sizeof file241},
    {"migrations/0055_lookup_codes.up.sql", file242, sizeof file242},
    {"migrations/0056_devices.down.sql", file243, sizeof file243},
    {"migrations/0056_devices.up.sql", file244, sizeof file244},
    {"migrations/0057_pending_sign_ups.down.sql", file245, sizeof file245},
    {"migrations/0057_pending_sign_ups.up.sql", file246, sizeof file246},
    {"migrations/0058_sign_in_returns.down.sql", file247, sizeof file247},
    {"migrations/0058_sign_in_returns.up.sql", file248, sizeof file248},
    {"migrations/0059_validated_code_checks.down.sql", file249, sizeof file249},
    {"migrations/0059_validated_code_checks.up.sql", file250, sizeof file250},
};

const CEmbeddedFile *cembedded_files(void) { return files; }
size_t cembedded_files_count(void) { return sizeof files / sizeof *files; }

#include "storage/tables.hpp"

#include <algorithm>
#include <array>

namespace tenure::storage {
namespace {

constexpr std::array keyColumns{
    Column{"consumer", Kind::text},
    Column{"id", Kind::anyText},
    Column{"state"},
    Column{"digest", Kind::bytes},
    Column{"token"},
    Column{"at", Kind::integer, Rule::storeClock},
};
constexpr std::array attemptColumns{
    Column{"consumer", Kind::text},
    Column{"id", Kind::anyText},
    Column{"attempts"},
    Column{"last_error", Kind::anyText},
    Column{"first_at"},
    Column{"last_at"},
    Column{"state", Kind::integer, Rule::keepsMore},
    Column{"begun_by", Kind::integer},
    Column{"process_died", Kind::integer},
    Column{"postponed", Kind::integer},
    Column{"postponed_since", Kind::integer},
    Column{"next_at", Kind::integer},
};
constexpr std::array inWorkColumns{
    Column{"consumer", Kind::text},
    Column{"lane", Kind::integer},
    Column{"token"},
    Column{"more"},
    Column{"ids", Kind::bytes},
    Column{"suspects_of", Kind::integer},
    Column{"narrowed", Kind::integer},
};
constexpr std::array deadLetterColumns{
    Column{"number", Kind::integer, Rule::assigned},
    Column{"consumer", Kind::text},
    Column{"id", Kind::anyText},
    Column{"grp", Kind::anyText},
    Column{"body", Kind::bytes, Rule::none, true},
    Column{"headers", Kind::text, Rule::none, true},
    Column{"enqueued_at"},
    Column{"position"},
    Column{"reason", Kind::anyText},
    Column{"attempts"},
    Column{"first_at"},
    Column{"died_at"},
    Column{"missing_from", Kind::integer},
    Column{"missing_to", Kind::integer},
    Column{"lacks", Kind::anyText},
};
constexpr std::array logColumns{
    Column{"consumer", Kind::text},
    Column{"n", Kind::integer, Rule::assigned},
    Column{"id", Kind::anyText},
    Column{"attempt"},
    Column{"outcome"},
    Column{"error", Kind::anyText},
    Column{"token"},
    Column{"began_at"},
    Column{"ended_at"},
};
constexpr std::array stateColumns{
    Column{"key", Kind::anyText},
    Column{"value", Kind::bytes},
};
constexpr std::array waitingColumns{
    Column{"queue", Kind::text}, Column{"id", Kind::anyText},   Column{"due"},      Column{"grp", Kind::anyText},
    Column{"body", Kind::bytes}, Column{"headers", Kind::text}, Column{"numbered"},
};
constexpr std::array firedColumns{
    Column{"queue", Kind::text},
    Column{"id", Kind::anyText},
    Column{"due"},
    Column{"at"},
};

constexpr std::array windowColumns{
    Column{"consumer", Kind::text},
    Column{"front"},
    Column{"lanes"},
    Column{"ahead"},
};
constexpr std::array streakColumns{
    Column{"consumer", Kind::text},
    Column{"deaths"},
    Column{"last_reason", Kind::anyText},
    Column{"first_at"},
    Column{"last_at"},
    Column{"state", Kind::integer, Rule::keepsMore},
};
constexpr std::array clockColumns{
    Column{"consumer", Kind::text}, Column{"of_store"},   Column{"wall"},
    Column{"boot_id", Kind::text},  Column{"since_boot"}, Column{"trusted_from"},
};

constexpr std::array turnColumns{
    Column{"consumer", Kind::text},
    Column{"grp", Kind::anyText},
    Column{"position"},
    Column{"since"},
};
constexpr std::array keptColumns{
    Column{"consumer", Kind::text},
    Column{"grp", Kind::anyText},
    Column{"number"},
    Column{"id", Kind::anyText},
    Column{"digest", Kind::bytes},
    Column{"body", Kind::bytes, Rule::none, true},
    Column{"headers", Kind::bytes, Rule::none, true},
    Column{"enqueued_at"},
    Column{"position"},
    Column{"past"},
};

constexpr std::array<Schema, tableCount> schemas{{
    {Table::key, "tenure_key", Scope::queue, 2, keyColumns},
    {Table::attempt, "tenure_attempt", Scope::queue, 2, attemptColumns},
    {Table::inWork, "tenure_in_work", Scope::queue, 2, inWorkColumns},
    {Table::deadLetter, "tenure_dead_letter", Scope::queue, 1, deadLetterColumns},
    {Table::log, "tenure_log", Scope::queue, 2, logColumns},
    {Table::state, "tenure_state", Scope::election, 1, stateColumns},
    {Table::window, "tenure_window", Scope::queue, 1, windowColumns},
    {Table::streak, "tenure_streak", Scope::queue, 1, streakColumns},
    {Table::clock, "tenure_clock", Scope::queue, 1, clockColumns},
    {Table::waiting, "tenure_waiting", Scope::place, 2, waitingColumns},
    {Table::fired, "tenure_fired", Scope::place, 2, firedColumns},
    {Table::turn, "tenure_turn", Scope::queue, 2, turnColumns},
    {Table::kept, "tenure_kept", Scope::queue, 3, keptColumns},
}};

}  // namespace

std::size_t Schema::placeOf(Rule rule) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(columns, rule, &Column::rule) - columns.begin());
}

const Schema& schemaOf(Table table) noexcept { return schemas[static_cast<std::size_t>(table)]; }

}  // namespace tenure::storage

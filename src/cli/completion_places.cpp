#include "cli/completion_places.h"

#include "cli/parser.h"

namespace evener::cli {
namespace {

bool names_a_file(const std::string& value) {
  for (const char* word : {"FILE", "DIR", "DATA", "SOURCE"}) {
    if (value.find(word) != std::string::npos) return true;
  }
  return false;
}

Offer offer_of(const job::OptionBase& option) {
  const job::OptionRules& rules = option.rules();
  return {option.name(), option.words().help, rules.one_of.empty() ? rules.suggestions : rules.one_of,
          option.kind() != job::ValueKind::kSwitch, names_a_file(option.words().value)};
}

void collect(const Command& command, const std::string& path, std::vector<Place>& places) {
  Place place{path, command.summary, {}, {}, false, {}};
  for (const job::OptionBase* option : command.options.options()) {
    if (option->rules().hidden) continue;
    const Offer offer = offer_of(*option);
    if (option->is_positional()) {
      place.words.insert(place.words.end(), offer.values.begin(), offer.values.end());
      place.takes_files = place.takes_files || offer.takes_file;
    } else {
      place.options.push_back(offer);
    }
  }
  if (!command.options.empty()) place.options.push_back(offer_of(GeneralFlags().config));
  place.options.push_back({"--help", "Print this help and stop", {}, false, false});
  if (path.empty()) place.options.push_back({"--version", "Print the version and stop", {}, false, false});
  for (const Command& inner : command.commands) place.commands.emplace_back(inner.name, inner.summary);
  places.push_back(std::move(place));
  for (const Command& inner : command.commands) {
    collect(inner, path.empty() ? inner.name : path + " " + inner.name, places);
  }
}

}  // namespace

std::vector<Place> places_of(const Command& program) {
  std::vector<Place> places;
  collect(program, "", places);
  return places;
}

}  // namespace evener::cli

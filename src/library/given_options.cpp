#include "library/given_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/names.h"
#include "evener/error.h"

namespace evener::library {
namespace {

constexpr std::array<std::string_view, 5> kOfCommands = {"--json", "--quiet", "--dry-run", "--hosts",
                                                         "--sample-interval"};

std::string option_key(const std::string& name) {
  std::string key = name;
  std::ranges::replace(key, '_', '-');
  return key;
}

job::OptionBase& find_option(const job::OptionSet& options, const std::string& name) {
  std::vector<std::string> known;
  for (job::OptionBase* option : options.options()) {
    if (option->key() == option_key(name)) return *option;
    known.push_back(option->key());
  }
  for (job::OptionBase* option : options.options()) {
    if (option->is_called_elsewhere("--" + option_key(name))) {
      throw UsageError(fmt::format("unknown option '{}'; it is called '{}' here", name, option->key()));
    }
  }
  throw UsageError(unknown_name_message("option", name, known));
}

}  // namespace

job::OptionSet givable(job::OptionSet options) {
  options.leave_out([](const job::OptionBase& option) {
    return option.rules().hidden || std::ranges::find(kOfCommands, option.name()) != kOfCommands.end();
  });
  return options;
}

void give(const job::OptionSet& options, const Options& given) {
  for (const auto& [name, value] : given.values()) {
    job::OptionBase& option = find_option(options, name);
    if (option.kind() != job::ValueKind::kSwitchOrOne || !value.is_truth()) {
      option.read(value.words());
    } else if (value.words().front() == "true") {
      option.read({""});
    }
  }
}

void check(const job::OptionSet& options) {
  for (const job::OptionBase* option : options.options()) {
    if (option->rules().required && !option->given()) {
      throw UsageError(fmt::format("the option '{}' is missing: {}", option->key(), option->words().help));
    }
  }
  options.check();
}

std::vector<OptionDescription> described(const job::OptionSet& options) {
  using Kind = OptionDescription::Kind;  // in the order of job::ValueKind
  constexpr Kind kKinds[] = {Kind::kSwitch, Kind::kOneValue, Kind::kManyValues, Kind::kSwitchOrValue};
  std::vector<OptionDescription> descriptions;
  for (const job::OptionBase* option : options.options()) {
    descriptions.push_back({.name = option->key(),
                            .kind = kKinds[static_cast<std::size_t>(option->kind())],
                            .value = option->words().value,
                            .value_kind = option->value_words(),
                            .help = option->words().help,
                            .default_text = option->default_text(),
                            .choices = option->rules().one_of,
                            .required = option->rules().required});
  }
  return descriptions;
}

}  // namespace evener::library

namespace evener {

OptionValue::OptionValue(double number) : words_{fmt::format("{}", number)} {}

}  // namespace evener

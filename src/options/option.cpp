#include "options/option.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"

namespace evener {
namespace {

/// The texts without the empty one, which stands for an option that wasn't given.
std::vector<std::string> named(std::vector<std::string> texts) {
  std::erase(texts, "");
  return texts;
}

using nlohmann::json;

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
constexpr bool kIsList = std::is_same_v<T, std::vector<std::string>>;

/// Reads a whole word.
template <typename T>
bool read_value(const std::string& text, T& value) {
  if constexpr (IsOptional<T>::value) {
    return read_value(text, value.emplace());
  } else if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
    return value || text == "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = text;
    return true;
  } else if constexpr (std::is_same_v<T, Percentage>) {
    const auto read = to_percentage(text);
    value = read.value_or(Percentage());
    return read.has_value();
  } else {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + (text.size() > 1 && text[0] == '+'), end, value);
    return error == std::errc() && stop == end;
  }
}

template <typename T>
std::string words_of_type() {
  if constexpr (IsOptional<T>::value) {
    return words_of_type<typename T::value_type>();
  } else if constexpr (std::is_floating_point_v<T>) {
    return "a number";
  } else if constexpr (std::is_same_v<T, Percentage>) {
    return "a percentage";
  } else if constexpr (std::is_unsigned_v<T>) {
    return "a whole number, 0 or more";
  } else {
    return "a whole number";
  }
}

template <typename T>
void check_range(const OptionBase& option, const T& value) {
  if constexpr (IsOptional<T>::value) {
    if (value) check_range(option, *value);
  } else if constexpr (std::is_same_v<T, Percentage>) {
    if (const auto& range = option.rules().range; range && !range->contains(value.percent)) {
      throw UsageError(fmt::format("{} is {}; it has to be {}", option.name(), value.text(), range->words));
    }
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto& range = option.rules().range;
    if (!range || range->contains(static_cast<double>(value))) return;
    throw UsageError(fmt::format("{} is {}; it has to be {}", option.name(), value, range->words));
  }
}

constexpr std::uint64_t kLargestFile = 1'000'000;

class ConfigReader {
 public:
  ConfigReader(const std::filesystem::path& file, const OptionSet& options, const std::string& path)
      : file_(file), options_(options.options()), path_(path) {}

  ConfigValues read() {
    const std::string text = text_without_byte_order_mark(read_file(file_, kLargestFile));
    toml::table table;
    try {
      table = toml::parse(text, file_.string());
    } catch (const toml::parse_error& error) {
      fail(error.source().begin.line, std::string(error.description()));
    }
    ConfigValues values;
    for (const OptionBase* option : options_) {
      // Positionals in the command's order; one that is missing ends the list, as on the command line.
      const toml::node* node = option->is_positional() ? table.get(option->key()) : nullptr;
      if (node) values.positionals.push_back(value_text(option->key(), *node));
    }
    for (const auto& [name, node] : table) {
      const std::string key(name.str());
      const OptionBase* option = find(key, node);
      if (!option->is_positional()) values.options.push_back({option, words(key, *option, node)});
    }
    return values;
  }

 private:
  [[noreturn]] void fail(std::uint32_t line, const std::string& what) const {
    throw UsageError(fmt::format("{}, line {}: {}", file_.string(), line, what));
  }

  const OptionBase* find(const std::string& key, const toml::node& node) const {
    std::vector<std::string> known;
    for (const OptionBase* option : options_) {
      if (option->key() == key) return option;
      known.push_back(option->key());
    }
    fail(node.source().begin.line, unknown_name_message("key", key, known));
  }

  std::vector<std::string> words(const std::string& key, const OptionBase& option, const toml::node& node) const {
    if (option.kind() == ValueKind::kSwitch) {
      const auto on = node.value_exact<bool>();
      if (!on) fail(node.source().begin.line, fmt::format("'{}' is a switch: it is true or false", key));
      return *on ? std::vector<std::string>{option.name()} : std::vector<std::string>{};
    }
    if (option.kind() == ValueKind::kSwitchOrOne && node.is_boolean()) {
      return *node.value_exact<bool>() ? std::vector<std::string>{option.name()} : std::vector<std::string>{};
    }
    const toml::array* list = node.as_array();
    if (!list) return {option.name() + "=" + value_text(key, node)};
    if (!option.takes_several()) fail(node.source().begin.line, fmt::format("'{}' takes one value", key));
    std::vector<std::string> result;
    for (const toml::node& item : *list) result.push_back(option.name() + "=" + value_text(key, item));
    return result;
  }

  std::string value_text(const std::string& key, const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) {
      if (text->empty()) fail(node.source().begin.line, fmt::format("'{}' is empty; leave the line out instead", key));
      return *text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
    if (node.is_table()) {
      fail(node.source().begin.line,
           fmt::format("[{}] is a table; the options of 'evener {}' stand flat, one per line", key, path_));
    }
    fail(node.source().begin.line, fmt::format("'{}' has a value that no option takes (a date or a nested list)", key));
  }

  const std::filesystem::path& file_;
  const std::vector<OptionBase*> options_;
  const std::string& path_;
};

}  // namespace

bool ValueRange::contains(double value) const {
  if (!std::isfinite(value)) return false;
  const bool above = least_is_exclusive ? value > least : value >= least;
  return above && (most_is_exclusive ? value < most : value <= most);
}

ValueRange more_than_zero() {
  return {0, std::numeric_limits<double>::infinity(), true, false, "more than 0"};
}

ValueRange zero_or_more() {
  return {0, std::numeric_limits<double>::infinity(), false, false, "0 or more"};
}

ValueRange share() {
  return {0, 1, false, true, "a share, such as 0.9"};
}

ValueRange from_to(double least, double most) {
  return {least, most, false, false, fmt::format("from {} to {}", least, most)};
}

ValueRange percent_from_to(double least, double most) {
  return {least, most, false, false, fmt::format("from {}% to {}%", least, most)};
}

OptionWords option_words(const std::string& written, std::string help) {
  const std::size_t space = written.find(' ');
  return {written.substr(0, space), space == std::string::npos ? "" : written.substr(space + 1), std::move(help)};
}

OptionBase::OptionBase(OptionGroup& group, OptionWords words, OptionRules rules)
    : words_(std::move(words)), rules_(std::move(rules)) {
  words_.elsewhere.insert(words_.elsewhere.end(), rules_.elsewhere.begin(), rules_.elsewhere.end());
  group.options_.push_back(this);
}

std::string OptionBase::key() const {
  if (!is_positional()) return name().substr(2);
  std::string key = name();
  for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return key;
}

void OptionBase::read(const std::vector<std::string>& values) {
  if (values.size() > 1 && !takes_several()) throw UsageError(given_twice_message(name(), values));
  given_ = true;
  given_words_ = values;
  if (!rules_.joint.empty()) given_words_ = {fmt::format("{}", fmt::join(values, rules_.joint))};
  if (read_values(given_words_)) return;
  throw UsageError(fmt::format("{} '{}' is not {}, or is too large", name(), fmt::join(values, " "), value_words()));
}

void OptionBase::give(const std::vector<std::string>& words) {
  std::vector<std::string> all = kind() == ValueKind::kSwitch ? std::vector<std::string>() : given_words_;
  all.insert(all.end(), words.begin(), words.end());
  read(all);
}

void OptionBase::record(json& config) const {
  if (!rules_.recorded) return;
  json& value = config[key()];
  record_teller_ ? record_teller_(value) : tell(value);
}

void OptionBase::keep(json& settings) const {
  const std::string& path = rules_.stays.key;
  if (path.empty()) return;
  json value;
  if (stay_teller_) {
    stay_teller_(value);
  } else if (rules_.stays.always || !is_default()) {
    tell(value);
  }
  const std::size_t slash = path.find('/');
  // The outer object stays null until it has a member, since null counts as absent in checkpoints.
  json& outer = settings[path.substr(0, slash)];
  if (slash == std::string::npos) {
    outer = std::move(value);
  } else if (!value.is_null()) {
    outer[path.substr(slash + 1)] = std::move(value);
  }
}

template <typename T>
Option<T>::Option(OptionGroup& group, OptionWords words, T initial, OptionRules rules)
    : OptionBase(group, std::move(words), std::move(rules)), value_(initial), initial_(std::move(initial)) {}

template <typename T>
void Option<T>::preset(T value) {
  value_ = initial_ = std::move(value);
}

template <typename T>
void Option<T>::check() const {
  check_range(*this, value_);
  if constexpr (std::is_same_v<T, std::string>) {
    const auto& known = rules().one_of;
    if (!known.empty() && std::ranges::find(known, value_) == known.end()) {
      throw UsageError(unknown_name_message(key(), value_, named(known)));
    }
  }
}

template <typename T>
ValueKind Option<T>::kind() const {
  if (std::is_same_v<T, std::optional<std::string>>) return ValueKind::kSwitchOrOne;
  if (std::is_same_v<T, bool>) return ValueKind::kSwitch;
  return kIsList<T> ? ValueKind::kMany : ValueKind::kOne;
}

template <typename T>
std::string Option<T>::value_words() const {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
    return words().value;
  } else if constexpr (std::is_same_v<T, std::string> || kIsList<T>) {
    return rules().one_of.empty() ? words().value : fmt::format("one of {}", fmt::join(named(rules().one_of), ", "));
  } else {
    return words_of_type<T>();
  }
}

template <typename T>
std::string Option<T>::default_text() const {
  if constexpr (std::is_same_v<T, std::string>) {
    return initial_;
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    return fmt::format("{}", initial_);
  } else if constexpr (std::is_same_v<T, Percentage>) {
    return initial_.text();
  } else {
    return "";  // a switch is off, a list is empty, and of what is absent the help text says what stands in for it
  }
}

template <typename T>
bool Option<T>::read_values(const std::vector<std::string>& values) {
  if constexpr (kIsList<T>) {
    value_ = values;
    return true;
  } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
    value_ = values.empty() ? "" : values.back();
    return true;
  } else {
    if (!values.empty() && read_value(values.back(), value_)) return true;
    if constexpr (std::is_same_v<T, Percentage> || std::is_same_v<T, std::optional<Percentage>>) {
      const std::string text = values.empty() ? "" : values.back();
      throw UsageError(fmt::format("{} is {}; it has to be a percentage with its sign, such as {}", name(),
                                   quoted_text(text), percentage_for(text, "5%")));
    }
    return false;
  }
}

template <typename T>
void Option<T>::tell(json& value) const {
  if constexpr (std::is_same_v<T, Percentage>) {
    value = value_.text();
  } else if constexpr (std::is_same_v<T, std::optional<Percentage>>) {
    value = value_ ? json(value_->text()) : json();
  } else if constexpr (IsOptional<T>::value) {
    value = value_ ? json(*value_) : json();
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = value_.empty() ? json() : json(value_);
  } else {
    value = value_;
  }
}

template class Option<std::string>;
template class Option<bool>;
template class Option<int>;
template class Option<std::int64_t>;
template class Option<std::uint64_t>;
template class Option<double>;
template class Option<Percentage>;
template class Option<std::optional<int>>;
template class Option<std::optional<std::int64_t>>;
template class Option<std::optional<double>>;
template class Option<std::optional<Percentage>>;
template class Option<std::optional<std::string>>;
template class Option<std::vector<std::string>>;

void OptionGroup::tell_words(GivenWords& words) const {
  for (const OptionBase* option : options_) {
    if (!option->given() || !option->rules().inherited) continue;
    auto& told = words[option->key()];
    told.clear();
    for (const std::string& word : option->given_words()) told.push_back(to_utf8_text(word));
  }
}

void OptionGroup::inherit(const GivenWords& words) {
  for (OptionBase* option : options_) {
    const auto found = words.find(option->key());
    if (option->given() || !option->rules().inherited || found == words.end()) continue;
    std::vector<std::string> bytes;
    for (const std::string& word : found->second) bytes.push_back(from_utf8_text(word));
    option->read(bytes);
  }
}

void OptionSet::give(const std::string& name, const std::vector<std::string>& words) const {
  if (OptionBase* option = find(name)) return option->give(words);
  std::vector<std::string> known;
  for (const OptionBase* option : options()) known.push_back(option->name());
  throw UsageError(unknown_name_message("option", name, known));
}

std::string given_twice_message(const std::string& name, const std::vector<std::string>& values) {
  const std::vector<std::string> first(values.begin(), values.end() - 1);
  const std::string count = first.size() == 1 ? "twice" : fmt::format("{} times", values.size());
  return fmt::format("{} is given {}, {} and {}: give it once", name, count,
                     printable(fmt::format("{}", fmt::join(first, ", "))), printable(values.back()));
}

ConfigValues read_config(const std::filesystem::path& file, const OptionSet& options, const std::string& path) {
  return ConfigReader(file, options, path).read();
}

}  // namespace evener

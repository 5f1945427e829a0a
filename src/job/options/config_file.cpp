#include "job/options/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

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
    if (option.kind() != ValueKind::kMany && option.rules().joint.empty())
      fail(node.source().begin.line, fmt::format("'{}' takes one value", key));
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

ConfigValues read_config(const std::filesystem::path& file, const OptionSet& options, const std::string& path) {
  return ConfigReader(file, options, path).read();
}

}  // namespace evener::job

// The options of a command, in groups, on its command line or in a TOML file. Each is described once: how it is
// written, what it takes, and what its value means for the record of a run, for a resumed run and for a plan. The
// command line, TOML files and --help are made from this description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.h"

namespace evener {

/// The numbers that an option takes. Exclusive limits are not among them.
struct ValueRange {
  double least = 0, most = 0;
  bool least_is_exclusive = false, most_is_exclusive = false;
  std::string words;  // what follows "it has to be", such as "more than 0"

  bool contains(double value) const;
};
ValueRange more_than_zero();
ValueRange zero_or_more();
/// From 0 to, but without, 1.
ValueRange share();
ValueRange from_to(double least, double most);
/// Of a percentage.
ValueRange percent_from_to(double least, double most);

/// How an option is written: {"--lr", "RATE", "Learning rate"}. A name without "--" is that of a positional ("MODEL").
/// `value` is the word that stands for its value in --help; a switch has none.
struct OptionWords {
  std::string name, value, help;
  std::vector<std::string> elsewhere = {};  // what other programs call it, for "did you mean"
};

/// Whether, and under which key, a checkpoint keeps an option's value. A resumed run must have the same value, or it is
/// refused: with another one it would be another training under the old name.
struct MustStay {
  std::string key = {};  // among the checkpoint's settings; "optimizer/kind" is "kind" inside "optimizer". Empty: not
                         // kept, so it may change
  bool always = false;   // keep a default value, too; false: a default is kept as null, so that it equals a checkpoint
                         // from before the option existed
};

struct OptionRules {
  std::optional<ValueRange> range = {};       // of a number
  std::vector<std::string> one_of = {};       // the only texts that are taken; empty: any
  std::vector<std::string> suggestions = {};  // values among others, which a shell offers
  bool has_commas = false;  // its values may contain commas, so a sweep doesn't take a comma for the end of a value
  bool required = false;
  bool hidden = false;   // not shown in --help: for processes that we start ourselves
  bool recorded = true;  // stands in the config of a run's record under its key
  bool in_plans = true;  // makes a difference to what `evener plan` finds out
  MustStay stays = {};
  std::string joint = {};                   // of a text that may be given several times: joins the values
  bool inherited = true;                    // --resume RUN_DIR takes it from the run, where it isn't given
  std::vector<std::string> elsewhere = {};  // as OptionWords::elsewhere

  // The same rules and one more, to be written behind each other.
  OptionRules suggesting(std::vector<std::string> values) const { return with(&OptionRules::suggestions, values); }
  OptionRules called(std::vector<std::string> names) const { return with(&OptionRules::elsewhere, names); }
  OptionRules kept_as(std::string key, bool always = false) const { return with(&OptionRules::stays, {key, always}); }
  OptionRules with_commas() const { return with(&OptionRules::has_commas, true); }
  OptionRules needed() const { return with(&OptionRules::required, true); }
  OptionRules unshown() const { return with(&OptionRules::hidden, true); }
  OptionRules not_recorded() const { return with(&OptionRules::recorded, false); }
  OptionRules not_in_plans() const { return with(&OptionRules::in_plans, false); }
  OptionRules not_inherited() const { return with(&OptionRules::inherited, false); }
  OptionRules joined_by(std::string text) const { return with(&OptionRules::joint, std::move(text)); }

  template <typename T>
  OptionRules with(T OptionRules::*member, T value) const {
    OptionRules changed = *this;
    changed.*member = std::move(value);
    return changed;
  }
};

inline OptionRules rules() {
  return {};
}
inline OptionRules within(ValueRange range) {
  return {.range = std::move(range)};
}
inline OptionRules one_of(std::vector<std::string> texts) {
  return {.one_of = std::move(texts)};
}
inline OptionRules suggesting(std::vector<std::string> values) {
  return {.suggestions = std::move(values)};
}

/// Of "--lr RATE" and its help.
OptionWords option_words(const std::string& written, std::string help);

class OptionGroup;

/// The words that options were given, by their keys.
using GivenWords = std::map<std::string, std::vector<std::string>>;

enum class ValueKind { kSwitch, kOne, kMany, kSwitchOrOne };

/// What all options have in common, whatever the type of their value. Two files get the value as JSON: record() adds it
/// to the run's record (record.json, under "config"), keep() to the settings in the checkpoint
/// (last.resume-N.safetensors). Both write what tell() makes of the value, unless record_as() or stay_as() was given
/// something else to write into the record or the checkpoint.
class OptionBase {
 public:
  /// Writes an option's value as JSON, in place of tell().
  using Teller = std::function<void(nlohmann::json&)>;

  OptionBase(OptionGroup& group, OptionWords words, OptionRules rules);
  virtual ~OptionBase() = default;
  OptionBase(const OptionBase&) = delete;
  OptionBase& operator=(const OptionBase&) = delete;

  const OptionWords& words() const { return words_; }
  const OptionRules& rules() const { return rules_; }
  const std::string& name() const { return words_.name; }
  bool is_positional() const { return words_.name.front() != '-'; }
  /// The name in TOML files and in records: "lr" for --lr, "model" for MODEL.
  std::string key() const;
  /// Whether other programs call the option so: "--batch-size" for --batch.
  bool is_called_elsewhere(const std::string& name) const {
    return std::ranges::find(words_.elsewhere, name) != words_.elsewhere.end();
  }
  /// Another help text, for a command to which the option means something else.
  void explain(std::string help) { words_.help = std::move(help); }
  /// For a command that can't do without it.
  void require() { rules_.required = true; }
  /// Whether read() was called.
  bool given() const { return given_; }
  /// The words that read() was called with last.
  const std::vector<std::string>& given_words() const { return given_words_; }

  /// Whether it may be given several times: a list, or texts that are joined.
  bool takes_several() const { return kind() == ValueKind::kMany || !rules_.joint.empty(); }
  /// Takes the words that were typed: for a list all of them, otherwise one; for a switch "true" or "false". Throws
  /// UsageError, also for more words than it takes.
  void read(const std::vector<std::string>& values);
  /// As read(), but together with the words that it was given before. A switch just gets its new value.
  void give(const std::vector<std::string>& words);
  /// Throws UsageError for a value that is out of range, or not in OptionRules::one_of.
  virtual void check() const = 0;

  virtual ValueKind kind() const = 0;
  /// What a value is, such as "a whole number".
  virtual std::string value_words() const = 0;
  /// The default for --help; empty: there is none to show.
  virtual std::string default_text() const = 0;

  /// For record.json: record() calls `teller` instead of tell(), such as for the learning rate that was used where --lr
  /// was not given.
  void record_as(Teller teller) { record_teller_ = std::move(teller); }
  /// For the checkpoint: keep() calls `teller` instead of tell(), such as for the schedule with its warm-up.
  void stay_as(Teller teller) { stay_teller_ = std::move(teller); }
  /// For record.json: adds the value to `config`, if the option is recorded.
  void record(nlohmann::json& config) const;
  /// For the checkpoint: adds the value to `settings`, if it must stay the same in a resumed run; null for a default
  /// that isn't kept (MustStay).
  void keep(nlohmann::json& settings) const;

 protected:
  virtual bool read_values(const std::vector<std::string>& values) = 0;
  /// For both files, where no teller was given: the value as it is; null where it is empty or absent.
  virtual void tell(nlohmann::json& value) const = 0;
  virtual bool is_default() const = 0;

 private:
  OptionWords words_;
  OptionRules rules_;
  Teller record_teller_, stay_teller_;
  bool given_ = false;
  std::vector<std::string> given_words_;
};

/// An option with a value of type T: std::string, bool (a switch), int, std::int64_t, std::uint64_t, double,
/// Percentage, an optional of a number (absent = not given), an optional string (a switch that may have a value: "" =
/// none), or a list of strings. It adds itself to its group.
template <typename T>
class Option final : public OptionBase {
 public:
  Option(OptionGroup& group, OptionWords words, T initial = {}, OptionRules rules = {});
  /// `written`: its name, and behind a space the word for its value: "--lr RATE", "--quiet", "MODEL NAME".
  Option(OptionGroup& group, const char* written, T initial, OptionRules rules, std::string help)
      : Option(group, option_words(written, std::move(help)), std::move(initial), std::move(rules)) {}
  Option(OptionGroup& group, const char* written, OptionRules rules, std::string help)
      : Option(group, written, T(), std::move(rules), std::move(help)) {}
  Option(OptionGroup& group, const char* written, T initial, std::string help)
      : Option(group, written, std::move(initial), OptionRules(), std::move(help)) {}
  Option(OptionGroup& group, const char* written, std::string help)
      : Option(group, written, T(), OptionRules(), std::move(help)) {}

  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  /// Another default, for a command that has a better one.
  void preset(T value);

  void check() const override;
  ValueKind kind() const override;
  std::string value_words() const override;
  std::string default_text() const override;

 private:
  bool read_values(const std::vector<std::string>& values) override;
  void tell(nlohmann::json& value) const override;
  bool is_default() const override { return value_ == initial_; }

  T value_, initial_;
};

extern template class Option<std::string>;
extern template class Option<bool>;
extern template class Option<int>;
extern template class Option<std::int64_t>;
extern template class Option<std::uint64_t>;
extern template class Option<double>;
extern template class Option<Percentage>;
extern template class Option<std::optional<int>>;
extern template class Option<std::optional<std::int64_t>>;
extern template class Option<std::optional<double>>;
extern template class Option<std::optional<Percentage>>;
extern template class Option<std::optional<std::string>>;
extern template class Option<std::vector<std::string>>;

/// Options that belong together, under a title of their own in --help. A group is a struct whose members are its
/// options: a new option is one more member, and is then read, checked, recorded and kept like the others.
class OptionGroup {
 public:
  explicit OptionGroup(std::string title) : title_(std::move(title)) {}
  virtual ~OptionGroup() = default;
  OptionGroup(const OptionGroup&) = delete;
  OptionGroup& operator=(const OptionGroup&) = delete;

  const std::string& title() const { return title_; }
  const std::vector<OptionBase*>& options() const { return options_; }

  /// Throws UsageError for wrong values, and for values that don't go together.
  void check() const {
    for (const OptionBase* option : options_) option->check();
    check_together();
  }
  /// For record.json: adds the recorded options to `config`.
  void record(nlohmann::json& config) const {
    for (const OptionBase* option : options_) option->record(config);
  }
  /// For the checkpoint: adds the options that must stay to `settings`.
  void keep(nlohmann::json& settings) const {
    for (const OptionBase* option : options_) option->keep(settings);
  }
  /// Adds the words of the options that were given and can be inherited, by the options' keys.
  void tell_words(GivenWords& words) const;
  /// Gives the words to those options that can be inherited and were not given. Throws UsageError.
  void inherit(const GivenWords& words);

 protected:
  /// Throws UsageError where options of this group don't go together. Their own values were checked before.
  virtual void check_together() const {}

 private:
  friend class OptionBase;
  std::string title_;
  std::vector<OptionBase*> options_;
};

/// Points to groups, which must outlive it.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(std::initializer_list<OptionGroup*> groups) : OptionSet(std::vector<OptionGroup*>(groups)) {}
  explicit OptionSet(const std::vector<OptionGroup*>& groups) {
    for (OptionGroup* group : groups) add(*group);
  }

  struct Section {
    OptionGroup* group;
    std::vector<OptionBase*> options;  // of the group, without those that were left out
  };

  void add(OptionGroup& group) { sections_.push_back({&group, group.options()}); }
  void add(const Section& section) { sections_.push_back(section); }
  /// Removes the options for which `useless` returns true: they can't be given, and keep their defaults.
  void leave_out(const std::function<bool(const OptionBase&)>& useless) {
    for (Section& section : sections_) {
      std::erase_if(section.options, [&](const OptionBase* option) { return useless(*option); });
    }
  }

  const std::vector<Section>& sections() const { return sections_; }
  bool empty() const { return sections_.empty(); }
  /// In the order of --help.
  std::vector<OptionBase*> options() const {
    std::vector<OptionBase*> all;
    for (const Section& section : sections_) all.insert(all.end(), section.options.begin(), section.options.end());
    return all;
  }
  /// The option of this name ("--lr", "MODEL"); null if there is none.
  OptionBase* find(const std::string& name) const {
    for (OptionBase* option : options()) {
      if (option->name() == name) return option;
    }
    return nullptr;
  }
  /// Gives the option `name` these `words`, as a command line does. Throws UsageError for an unknown name, with the
  /// nearest one, and for words that are no value of the option, or one too many.
  void give(const std::string& name, const std::vector<std::string>& words) const;
  /// Names of the required options that weren't given.
  std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (const OptionBase* option : options()) {
      if (option->rules().required && !option->given()) names.push_back(option->name());
    }
    return names;
  }
  /// Throws UsageError for wrong values, and for values that don't go together.
  void check() const {
    for (const Section& section : sections_) section.group->check();
  }

 private:
  std::vector<Section> sections_;
};

/// "--size is given twice, 64x64 and 32x32: give it once".
std::string given_twice_message(const std::string& name, const std::vector<std::string>& values);

/// The options in a file, as they would be typed on the command line.
struct ConfigValues {
  struct Words {
    const OptionBase* option;
    std::vector<std::string> words;  // "--lr=0.05", or one "--name=value" for each value of a list
  };
  std::vector<Words> options;
  std::vector<std::string> positionals;  // of the command, in its order
};

/// Reads the file for the command `path` ("train") with these options. Throws UsageError naming file, line and key: an
/// unknown key (with the nearest one), a value of the wrong kind, a table.
ConfigValues read_config(const std::filesystem::path& file, const OptionSet& options, const std::string& path);

}  // namespace evener

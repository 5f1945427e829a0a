// The options of one command: groups in the order of --help, with those left out that the command has no use for.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "job/options/option.h"

namespace evener::job {

/// Points to groups, which must outlive it.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(std::initializer_list<OptionGroup*> groups);

  struct Section {
    OptionGroup* group;
    std::vector<OptionBase*> options;  // of the group, without those that were left out
  };

  void add(OptionGroup& group);
  /// Removes the options for which `useless` returns true: they can't be given, and keep their defaults.
  void leave_out(const std::function<bool(const OptionBase&)>& useless);

  const std::vector<Section>& sections() const { return sections_; }
  bool empty() const { return sections_.empty(); }
  /// In the order of --help.
  std::vector<OptionBase*> options() const;
  /// The option of this name ("--lr", "MODEL"); null if there is none.
  OptionBase* find(const std::string& name) const;
  /// Sets the option `name` to `words`, as a command line does. Throws UsageError for an unknown name, with the nearest
  /// one, and for words that are no value of the option.
  void give(const std::string& name, const std::vector<std::string>& words) const;
  /// Names of the required options that weren't given.
  std::vector<std::string> missing() const;
  /// Throws UsageError for wrong values, and for values that don't go together.
  void check() const;

 private:
  std::vector<Section> sections_;
};

}  // namespace evener::job

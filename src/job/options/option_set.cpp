#include "job/options/option_set.h"

#include "base/error.h"
#include "base/names.h"

namespace evener::job {

OptionSet::OptionSet(std::initializer_list<OptionGroup*> groups) {
  for (OptionGroup* group : groups) add(*group);
}

void OptionSet::add(OptionGroup& group) {
  sections_.push_back({&group, group.options()});
}

void OptionSet::leave_out(const std::function<bool(const OptionBase&)>& useless) {
  for (Section& section : sections_) {
    std::erase_if(section.options, [&](const OptionBase* option) { return useless(*option); });
  }
}

std::vector<OptionBase*> OptionSet::options() const {
  std::vector<OptionBase*> all;
  for (const Section& section : sections_) all.insert(all.end(), section.options.begin(), section.options.end());
  return all;
}

OptionBase* OptionSet::find(const std::string& name) const {
  for (OptionBase* option : options()) {
    if (option->name() == name) return option;
  }
  return nullptr;
}

void OptionSet::give(const std::string& name, const std::vector<std::string>& words) const {
  if (OptionBase* option = find(name)) return option->read(words);
  std::vector<std::string> known;
  for (const OptionBase* option : options()) known.push_back(option->name());
  throw UsageError(unknown_name_message("option", name, known));
}

std::vector<std::string> OptionSet::missing() const {
  std::vector<std::string> names;
  for (const OptionBase* option : options()) {
    if (option->rules().required && !option->given()) names.push_back(option->name());
  }
  return names;
}

void OptionSet::check() const {
  for (const Section& section : sections_) section.group->check();
}

}  // namespace evener::job

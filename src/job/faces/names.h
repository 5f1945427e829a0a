// The names of the persons that `evener faces` has found: names.csv in a run's folder, which users edit.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace evener::job {

/// The path of names.csv in the folder.
std::filesystem::path names_file(const std::filesystem::path& folder);

class PersonNames {
 public:
  /// No person has a name.
  PersonNames() = default;
  /// Reads names.csv in `folder`, if there is one: lines of a person's number, from 1, and a name, separated by a
  /// comma, semicolon or tab. Throws Error naming a line that is not of this form.
  explicit PersonNames(const std::filesystem::path& folder);

  bool empty() const { return names_.empty(); }
  /// Names by the persons' numbers, also of persons who no longer exist.
  const std::map<int, std::string>& all() const { return names_; }
  /// The name of a person, numbered from 0; "" where there is none.
  const std::string& of(int person) const;

  /// Lets names follow their faces: each name goes to the person who `now` has most of the faces that the named person
  /// had `before`. Both have the person of each face, -1 = none. Names whose persons no longer exist stay with their
  /// numbers. Returns notes on names that found no person.
  std::vector<std::string> follow(const std::vector<int>& before, const std::vector<int>& now);

  /// Writes names.csv with a line for each of `persons`, so that users only have to fill in names, and one for each
  /// name.
  void write(const std::filesystem::path& folder, const std::set<int>& persons) const;

 private:
  std::map<int, std::string> names_;
};

}  // namespace evener::job

// What people call the persons that `evener faces` has found: names.csv in a run's folder, which they edit.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace evener::job {

/// The file in the folder.
std::filesystem::path names_file(const std::filesystem::path& folder);

class PersonNames {
 public:
  /// Nobody has a name.
  PersonNames() = default;
  /// Reads the names in `folder`, if there are any: lines of a group's number, from 1, and a name, with a comma,
  /// semicolon or tab between. Throws Error naming a line that is none.
  explicit PersonNames(const std::filesystem::path& folder);

  bool empty() const { return names_.empty(); }
  /// By the persons' numbers; also of persons who are no longer there.
  const std::map<int, std::string>& all() const { return names_; }
  /// The name of a person, numbered from 0; "" where there is none.
  const std::string& of(int person) const;

  /// Each name goes to the person who has most of the faces that were the named person's `before`: of each face the
  /// number, -1 = none; `now` the same today. Names of persons who are no longer there stay with their numbers. What to
  /// tell of names that found nobody.
  std::vector<std::string> follow(const std::vector<int>& before, const std::vector<int>& now);

  /// Writes the file, with a line for each of `persons`, so that names only have to be filled in, and for each name.
  void write(const std::filesystem::path& folder, const std::set<int>& persons) const;

 private:
  std::map<int, std::string> names_;
};

}  // namespace evener::job

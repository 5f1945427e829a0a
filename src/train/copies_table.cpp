#include "train/copies_table.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/files.h"
#include "base/names.h"

namespace evener::training {

std::string copies_text(const CopySearch& search) {
  std::string text = fmt::format("{} in every pixel, ", search.exact);
  text += search.near_reason.empty() ? fmt::format("{} nearly", search.judged - search.exact)
                                     : "near ones were not looked for: " + search.near_reason;
  if (search.pairs.empty()) return text;
  const CopiedFiles& first = search.pairs.front();
  return text + fmt::format("; such as '{}' of '{}', {}", printable(first.judged), printable(first.trained),
                            first.relation.text());
}

void write_copies(const std::filesystem::path& path, const CopySearch& search) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "image,part,copy_of,copy_of_part,relation,distance\n";
    for (const CopiedFiles& pair : search.pairs) {
      out << fmt::format("{},{},{},training,{},{:.4f}\n", csv_cell(pair.judged), pair.part, csv_cell(pair.trained),
                         csv_cell(pair.relation.text()), pair.distance);
    }
  });
}

}  // namespace evener::training

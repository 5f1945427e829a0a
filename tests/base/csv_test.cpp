// Tables as text: cells in quotes, rows that are read, and a table that grows.
#include "base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/base64.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace evener {
namespace {

using testing::ElementsAre;

TEST(Csv, CellsComeBackAsTheyWere) {
  const std::vector<std::string> cells = {"a", "", "b,c", "say \"so\"", "\"", " x "};
  const std::string line = csv_line(cells);
  EXPECT_EQ(line, "a,,\"b,c\",\"say \"\"so\"\"\",\"\"\"\", x \n");
  EXPECT_EQ(csv_cells(line.substr(0, line.size() - 1)), cells);
  EXPECT_EQ(csv_cell("\xff"), "\xef\x9f\xbf") << "what is no UTF-8 becomes it";
}

TEST(Csv, SeparatorsAreThoseThatAreAskedFor) {
  EXPECT_THAT(csv_cells("a;b,c\td\r", ",;\t"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(csv_cells("a;b,c"), ElementsAre("a;b", "c"));
  EXPECT_THAT(csv_cells("\"a,\"\"b\"", ""), ElementsAre("a,\"b"));
  EXPECT_THAT(csv_cells(""), ElementsAre(""));
}

TEST(Csv, ReaderFindsColumnsAndCountsLines) {
  std::istringstream text("time,\"a,b\"\r\n\n1,2\r\n3\n");
  CsvReader table(text);
  EXPECT_THAT(table.titles(), ElementsAre("time", "a,b"));
  EXPECT_EQ(table.find_column("a,b"), 1U);
  EXPECT_EQ(table.find_column("none"), std::nullopt);
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.line(), 3U);
  EXPECT_THAT(table.cells(), ElementsAre("1", "2"));
  ASSERT_TRUE(table.next());
  EXPECT_THAT(table.cells(), ElementsAre("3")) << "no cells of the longer row before";
  EXPECT_EQ(table.cell(1), "");
  EXPECT_FALSE(table.next());
}

TEST(Csv, WriterReplacesAndSaysWhereItCant) {
  const test::TestFolder folder;
  const auto path = folder.path() / "t.csv";
  write_file_atomically(path, "something else, and longer\n");
  CsvWriter table(path, "a,b");
  table.add("1,2\n");
  EXPECT_EQ(read_file(path), "a,b\n1,2\n");
  EXPECT_THROW(CsvWriter(folder.path() / "none/t.csv", "a"), OutputError);
}

TEST(Base64, GoesThereAndBack) {
  for (const std::string bytes : {"", "M", "Ma", "Man", "\xff\xef"}) EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  EXPECT_EQ(to_base64("Ma"), "TWE=");
  EXPECT_EQ(from_base64("TWE"), "Ma");
  for (const char* wrong : {"TWE!", "T", "TW F"}) EXPECT_FALSE(from_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace evener

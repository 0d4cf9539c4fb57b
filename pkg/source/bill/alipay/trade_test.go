package alipay_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
)

func TestTrade(t *testing.T) {
	t.Parallel()
	r := loads(t, "alipay-trade", tradeGood, tradeLines)
	require.Equal(t, map[string]string{"CNY": "47.1"}, r.Totals())
	require.Equal(t, map[string]string{
		"trade_no": "2024030122001400000000000101", "refund_no": "R1", "provider_type": "退款", "received": "-30", "net": "",
		"shared": "0", "store": "sh01", "method": "",
	}, r.Rows[1].Attr)
	require.Equal(t, "-1", r.Rows[3].Attr["shared"])
	require.Equal(t, []int{6, 7, 8, 9}, []int{r.Rows[0].Line, r.Rows[1].Line, r.Rows[2].Line, r.Rows[3].Line})
	require.Empty(t, r.Remarks)
}

// The totals of the rows by a splitter that knows nothing of the reader.
func TestTradeAgainstAnotherSplitter(t *testing.T) {
	t.Parallel()
	sum := decimal.Zero
	for line := range strings.Lines(tradeRows) {
		sum = sum.Add(decimal.RequireFromString(strings.Split(line, ",")[11]))
	}
	require.Equal(t, sum.String(), billtest.One(t, format(t, "alipay-trade"), tradeGood).Totals()["CNY"])
}

// B7 a GBK file, B8 a character of four bytes in GB18030, B12 a byte order mark, CR LF.
func TestTradeCharsets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, charset string }{
		"utf-8":            {tradeGood, "utf-8"},
		"utf-8, marked":    {"\uFEFF" + tradeGood, "utf-8"},
		"utf-8, CR LF":     {strings.ReplaceAll(tradeGood, "\n", "\r\n"), "utf-8"},
		"gb18030":          {billtest.GB18030(t, tradeGood), "gb18030"},
		"gb18030, CR LF":   {billtest.GB18030(t, strings.ReplaceAll(tradeGood, "\n", "\r\n")), "gb18030"},
		"gb18030, 4 bytes": {billtest.GB18030(t, with(t, tradeGood, "茶 A", "𠮷茶㐂")), "gb18030"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := loads(t, "alipay-trade", c.content, tradeLines)
			require.Equal(t, c.charset, r.Charset)
		})
	}
}

// B2 two header generations live side by side, in any order and with brackets of either width.
func TestTradeHeaderGenerations(t *testing.T) {
	t.Parallel()
	rows29 := "2024030122001400000000000103\t,S1\t,交易\t,x,2024-03-01 08:00:00,2024-03-01 08:00:01,\t,二号店\t,\t,\t,\t,9.00,9.00,0.00,0.00,0.00,0.00,0.00,,0.00,0.00,\t,-0.05,8.95,m1,当面付,,0.00,3\n" +
		"2024030122001400000000000103\t,S1\t,退款\t,x,2024-03-01 08:00:00,2024-03-01 08:00:02,\t,二号店\t,\t,\t,\t,-9.00,-9.00,0.00,0.00,0.00,0.00,0.00,,0.00,0.00,B9\t,0.00,-9.00,m1,当面付,,0.00,3\n"
	foot := strings.NewReplacer("2笔，商家实收共107.00元，商家优惠共0.30", "1笔，商家实收共9.00元，商家优惠共0.00", "2笔，商家实收退款共-60.00元，商家优惠退款共-0.20", "1笔，商家实收退款共-9.00元，商家优惠退款共0.00").Replace(tradeFoot)
	r := loads(t, "alipay-trade", tradeHead+trade29+"\n"+rows29+foot, []string{
		"payment S1 S1 2024030122001400000000000103 9 CNY 0.05 - 2024-03-01T00:00:01Z -",
		"refund B9 S1 2024030122001400000000000103/B9 -9 CNY 0 - 2024-03-01T00:00:02Z -",
	})
	require.Equal(t, "8.95", r.Rows[0].Attr["net"])
	require.Equal(t, "当面付", r.Rows[0].Attr["method"])
	require.Equal(t, "二号店", r.Rows[0].Attr["store"])

	loads(t, "alipay-trade", with(t, tradeGood, trade25, strings.NewReplacer("（", "(", "）", ")").Replace(trade25)), tradeLines)

	short := "完成时间,服务费（元）,商户订单号,支付宝交易号,业务类型,订单金额（元）,商家实收（元）,商家优惠（元）,退款批次号/请求号\n" +
		"2024-03-01 08:00:01,-0.05,S1,2024030122001400000000000103,交易,9.00,9.00,0.00,\n" +
		"2024-03-01 08:00:02,,S1,2024030122001400000000000103,退款,-9.00,-9.00,,B9\n"
	loads(t, "alipay-trade", tradeHead+short+foot, []string{
		"payment S1 S1 2024030122001400000000000103 9 CNY 0.05 - 2024-03-01T00:00:01Z -",
		"refund B9 S1 2024030122001400000000000103/B9 -9 CNY - - 2024-03-01T00:00:02Z -",
	})

	refused(t, "alipay-trade", with(t, tradeGood, "服务费（元）", "手续费（元）"), `columns missing "服务费（元）"; not known "手续费（元）"`)
	refused(t, "alipay-trade", with(t, tradeGood, "退款批次号/请求号", "备注二"), `not known "备注二"`)
	refused(t, "alipay-trade", with(t, tradeGood, "退款批次号/请求号", "商户识别号"), `columns missing "退款批次号/请求号"`)
	refused(t, "alipay-trade", with(t, tradeGood, ",备注", ",商户订单号"), `there more than once "商户订单号"`)
}

// B10 the preamble got longer or shorter.
func TestTradePreamble(t *testing.T) {
	t.Parallel()
	loads(t, "alipay-trade", with(t, tradeGood, "#账号", "#本账单时间为北京时间\n\n#账号"), tradeLines)
	r := loads(t, "alipay-trade", "#支付宝业务明细查询\n"+trade25+"\n"+tradeRows+tradeFoot, tradeLines)
	require.Contains(t, r.Remarks[0], "does not say its period")
	loads(t, "alipay-trade", trade25+"\n"+tradeRows+tradeFoot, tradeLines)
	refused(t, "alipay-trade", tradeHead+"支付宝交易号\n"+tradeRows+tradeFoot, "the header with columns")
	refused(t, "alipay-trade", with(t, tradeGood, "2024年03月01日", "2024/03/01"), "3:1: start of the period", "2024/03/01")
	refused(t, "alipay-trade", with(t, tradeGood, "[2024年03月02日 00:00:00]\n#--", "[2024年03月01日 00:00:00]\n#--"), "not after its start")
	refused(t, "alipay-trade", tradeGood+tradeGood, "text behind the end of the list", "two")
	refused(t, "alipay-trade", with(t, tradeGood, "#账号", "#起始日期：[2024年03月01日 00:00:00]   终止日期：[2024年03月02日 00:00:00]\n#账号"), "a second period")
}

// An empty day is a header and totals of zero.
func TestTradeEmptyDay(t *testing.T) {
	t.Parallel()
	foot := "#-----业务明细列表结束-----\n#交易合计：0笔，商家实收共0.00元，商家优惠共0.00元\n#退款合计：0笔，商家实收退款共0.00元，商家优惠退款共0.00元\n#导出时间：[2024年03月02日 05:46:49]\n"
	loads(t, "alipay-trade", tradeHead+trade25+"\n"+foot, []string{})
	refused(t, "alipay-trade", tradeHead+trade25+"\n"+tradeFoot, "declares 交易合计 笔数 = 2, but its rows give 0")
}

// B14 a tab behind the closing quote, comments padded with commas, an empty first column, another delimiter.
func TestTradeSpreadsheetCopies(t *testing.T) {
	t.Parallel()
	var quoted, shifted, semicolons strings.Builder
	for line := range strings.Lines(tradeGood) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			quoted.WriteString(line + strings.Repeat(",", 24) + "\n")
			shifted.WriteString("," + line + "\n")
			semicolons.WriteString(line + ";;;;\n")
			continue
		}
		cells := strings.Split(line, ",")
		shifted.WriteString("," + line + "\n")
		semicolons.WriteString(strings.Join(cells, ";") + "\n")
		for i, c := range cells {
			if bare, tab := strings.CutSuffix(c, "\t"); tab {
				cells[i] = `"` + bare + "\"\t"
			}
		}
		quoted.WriteString(strings.Join(cells, ",") + "\n")
	}
	loads(t, "alipay-trade", quoted.String(), tradeLines)
	loads(t, "alipay-trade", shifted.String(), tradeLines)
	loads(t, "alipay-trade", semicolons.String(), tradeLines)
	var tabs strings.Builder
	for line := range strings.Lines(tradeGood) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			tabs.WriteString("\"" + line + "\"" + strings.Repeat("\t", 24) + "\n")
			continue
		}
		cells := strings.Split(line, ",")
		for i, c := range cells {
			if strings.HasSuffix(c, "\t") {
				cells[i] = `"` + c + `"` // a spreadsheet quotes a cell that holds the delimiter
			}
		}
		tabs.WriteString(strings.Join(cells, "\t") + "\n")
	}
	loads(t, "alipay-trade", tabs.String(), tradeLines)
	refused(t, "alipay-trade", with(t, shifted.String(), ",20240301", "x,20240301"), `the value "x" stands in a column without a name`)
}

// B59, B64 quotes and commas in a text that Alipay does not quote.
func TestTradeFreeText(t *testing.T) {
	t.Parallel()
	loads(t, "alipay-trade", with(t, tradeGood, "茶 A", `"Box" Co`), tradeLines)
	loads(t, "alipay-trade", with(t, tradeGood, "茶 A", `"茶 A`), tradeLines)
	loads(t, "alipay-trade", with(t, tradeGood, "茶 A", `"茶, ""大"" A"`), tradeLines)
	r := billtest.One(t, format(t, "alipay-trade"), with(t, tradeGood, "茶 A", "茶,大"))
	require.Contains(t, r.Problems[0], "6:1: 26 fields, but the header has 25")
	require.Contains(t, r.Problems[0], "茶,大")
	refused(t, "alipay-trade", with(t, tradeGood, "茶 A", "\"茶\nA\""), "6:1: 4 fields", "7:1: 22 fields") // B25
}

// What a spreadsheet or a person damaged is refused with its place (bugs B9, B17, B33, B42, B48, B52, B60, B63).
func TestTradeDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, put, want string }{
		"B9 an id as a number":              {"2024030122001400000000000101\t,S0070", "2.0240301220014E+27\t,S0070", `6:1: column "支付宝交易号": "2.0240301220014E+27" is a number as a spreadsheet rounds it`},
		"an id as a formula":                {"2024030122001400000000000101\t,S0070", "=\"2024030122001400000000000101\",S0070", "a character that a spreadsheet puts before numbers"},
		"B17 grouped":                       {",100.30,", `,"1,100.30",`, `column "订单金额（元）": amount "1,100.30"`},
		"B18 a decimal comma":               {",100.30,", `,"100,30",`, `amount "100,30"`},
		"an empty amount":                   {",100.30,", ",,", "the amount is empty"},
		"B33 a refund above zero":           {",-30.10,", ",30.10,", `7:117: column "订单金额（元）": 30.1 of a row with 业务类型 退款 has the wrong sign`},
		"a payment below zero":              {",100.30,", ",-100.30,", "has the wrong sign"},
		"a refund received above zero":      {",-30.00,", ",30.00,", `column "商家实收（元）": 30 of a row with 业务类型 退款`},
		"a fee of a payment above zero":     {",-0.60,", ",0.60,", `column "服务费（元）": the fee 0.6 of a payment is printed above zero`},
		"B42 no such date":                  {"2024-03-01 09:10:11", "2024-02-30 09:10:11", `column "完成时间": instant "2024-02-30 09:10:11"`},
		"B48 a zero date":                   {"2024-03-01 09:10:11", "0000-00-00 00:00:00", "the time is empty"},
		"B52 the day before":                {"2024-03-01 09:10:11", "2024-02-29 23:59:59", "outside the period of the file, 2024-03-01 00:00:00 to before 2024-03-02 00:00:00"},
		"B52 the end of the period":         {"2024-03-01 23:59:59", "2024-03-02 00:00:00", "outside the period"},
		"B60 a date as a spreadsheet shows": {"2024-03-01 09:10:11", "2024/3/1 9:10", "a spreadsheet may have changed it"},
		"B60 a serial date":                 {"2024-03-01 09:10:11", "45352.3820718", "a spreadsheet may have changed it"},
		"B60 a date alone":                  {"2024-03-01 09:10:11", "2024-03-01", "a spreadsheet may have changed it"},
		"B63 an unknown word":               {"退款\t", "预授权\t", `7:38: column "业务类型": "预授权" is not known`},
		"an empty trade number":             {"2024030122001400000000000101\t,S0070", "\t,S0070", "the trade number is empty"},
		"a blank line":                      {"2024030122001400000000000102", "\n2024030122001400000000000102", "9:1: a blank line between the rows"},
		"a comment between rows":            {"2024030122001400000000000102", "#note\n2024030122001400000000000102", "stands between the rows"},
		"a lone carriage return":            {"茶 A", "茶\rA", "a carriage return inside a line"},
		"B58 a total row":                   {"#-----------------------------------------业务明细列表结束", "合计\t,\t,4,2,0.02\n#----业务明细列表结束", "10:1: 5 fields"},
		"an edited amount":                  {",100.00,", ",101.00,", "交易合计 商家实收 = 107, but its rows give 108"},
		"an edited total":                   {"商家优惠共0.30元", "商家优惠共0.31元", "11:0: the bill declares 交易合计 商家优惠 = 0.31, but its rows give 0.3"},
		"a total of a new kind":             {"商家优惠共0.30元", "商家优惠共0.30元，红包共1.00元", "is not understood"},
		"a total that was cut":              {"，商家优惠共0.30元", "", "is not understood"},
		"a total with groups":               {"商家实收共107.00元", "商家实收共1,07.00元", "is not understood"},
		"B15 no end marker":                 {"#-----------------------------------------业务明细列表结束------------------------------------\n", "", "stands between the rows"},
		"no totals of refunds":              {"#退款合计：2笔，商家实收退款共-60.00元，商家优惠退款共-0.20元\n", "", "the line #退款合计 behind the list is missing"},
		"a row taken away":                  {tradeRows[strings.Index(tradeRows, "2024030122001400000000000102"):], "", "交易合计 笔数 = 2, but its rows give 1"},
		"a row put in twice":                {tradeRows[strings.Index(tradeRows, "2024030122001400000000000102"):], strings.Repeat(tradeRows[strings.Index(tradeRows, "2024030122001400000000000102"):], 2), "交易合计 笔数 = 2, but its rows give 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, "alipay-trade", with(t, tradeGood, c.old, c.put), c.want)
		})
	}
}

// B9 ids that a spreadsheet has rounded to fifteen digits.
func TestTradeRoundedIDs(t *testing.T) {
	t.Parallel()
	refused(t, "alipay-trade", strings.NewReplacer("2024030122001400000000000101", "2024030122001400000000000000", "2024030122001400000000000102", "2024030122001410000000000000").Replace(tradeGood),
		`column "支付宝交易号": 4 of 4 long numbers end in 00000`)
}

// B35 legitimate twins: two equal payments are two rows. B32 and a refund without a number of its own has its order's.
func TestTradeTwins(t *testing.T) {
	t.Parallel()
	rows := ""
	for range 2 {
		rows += "2024030122001400000000000103,,交易,x,,2024-03-01 08:00:01,,,,,,9.00,9.00,0.00,0.00,0.00,0.00,0.00,,0.00,0.00,,0.00,0.00,\n"
		rows += "2024030122001400000000000103,S1,退款,x,,2024-03-01 08:00:01,,,,,,-1.00,-1.00,0.00,0.00,0.00,0.00,0.00,,0.00,0.00,,0.00,0.00,\n"
	}
	foot := strings.NewReplacer("107.00", "18.00", "0.30", "0.00", "-60.00", "-2.00", "-0.20", "0.00").Replace(tradeFoot)
	id := "2024030122001400000000000103"
	pay, back := "payment "+id+" "+id+" "+id+" 9 CNY 0 - 2024-03-01T00:00:01Z -", "refund S1 S1 "+id+" -1 CNY 0 - 2024-03-01T00:00:01Z -"
	loads(t, "alipay-trade", tradeHead+trade25+"\n"+rows+foot, []string{pay, back, pay, back})
}

// B30 sums are exact: ten thousand payments of 0.01 are 100, and memory is that of one row.
func TestTradeManyRows(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(tradeHead + trade25 + "\n")
	for i := range 10000 {
		b.WriteString("20240301220014" + strconv.Itoa(10000000000001+i) + "\t,S" + strconv.Itoa(i) + "\t,交易\t,x,2024-03-01 08:00:00,2024-03-01 08:00:01,\t,\t,\t,\t,\t,0.01,0.01,0.00,0.00,0.00,0.00,0.00,,0.00\t,0.00,\t,0.00,0.00,\n")
	}
	b.WriteString("#--业务明细列表结束--\n#交易合计：10000笔，商家实收共100.00元，商家优惠共0.00元\n#退款合计：0笔，商家实收退款共0.00元，商家优惠退款共0.00元\n")
	r := billtest.Read(t, billtest.Doc{Format: format(t, "alipay-trade"), Content: b.String()})
	require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
	require.Equal(t, "100", r.Totals()["CNY"])
}

// B55 a file that is cut anywhere before the end of its last total line is refused; behind that nothing is missing.
func TestCutFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		lines   []string
	}{
		"alipay-trade": {tradeGood, tradeLines}, "alipay-signcustomer": {accountGood, accountLines},
	} {
		for charset, content := range map[string]string{"utf-8": c.content, "gb18030": billtest.GB18030(t, c.content)} {
			whole := strings.Index(c.content, "\n#导出时间")
			if charset == "gb18030" {
				whole = len(billtest.GB18030(t, c.content[:whole]))
			}
			t.Run(name+" "+charset, func(t *testing.T) {
				t.Parallel()
				step := 1
				if charset == "utf-8" {
					step = 7
				}
				for n := 0; n < len(content); n += step {
					r := billtest.Read(t, billtest.Doc{Format: format(t, name), Content: content[:n]})
					switch {
					case n < whole:
						require.True(t, r.Refused(), "cut at %d of %d", n, len(content))
					case r.Refused(): // within a character of the last line
					default:
						require.Equal(t, c.lines, r.Lines(), "cut at %d of %d", n, len(content))
					}
				}
			})
		}
	}
}

// B65 two products under one name: a title settles the kind, whatever the header says, and each file is of one kind.
func TestFitsOne(t *testing.T) {
	t.Parallel()
	for want, contents := range map[string][]string{
		"alipay-trade":                {tradeGood, billtest.GB18030(t, tradeGood), "\uFEFF" + tradeGood, trade25 + "\n", ",#支付宝业务明细查询,,\n", "#支付宝业务明细查询\n交易创建时间,收/支,资金状态\n"},
		"alipay-signcustomer":         {accountGood, account12 + "\n", "\"#支付宝账务明细查询\",,\n"},
		"alipay-trade-summary":        {tradeSummaryGood},
		"alipay-signcustomer-summary": {accountSummaryGood, "#支付宝账务汇总查询\n" + account12},
		"":                            {"", "x", "支付宝交易记录明细查询\n", "交易时间,商户订单号,业务类型\n", "\x00\xff", strings.Repeat("#", 70000)},
	} {
		for _, content := range contents {
			var fits string
			for _, f := range []string{"alipay-trade", "alipay-signcustomer", "alipay-trade-summary", "alipay-signcustomer-summary"} {
				if format(t, f).Fits(bill.NewHead([]byte(content[:min(len(content), 64<<10)]))) {
					fits += f
				}
			}
			require.Equal(t, want, fits, "%.60q", content)
		}
	}
}

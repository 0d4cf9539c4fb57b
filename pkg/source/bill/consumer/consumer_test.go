package consumer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/consumer"
)

// first is the stranger that the registry would name, with what the document says of itself.
func first(content string) (named, advice string) {
	h := bill.NewHead([]byte(content[:min(len(content), 64<<10)]))
	for _, s := range consumer.Strangers() {
		if s.Fits(h) {
			return s.Named(h), s.Advice
		}
	}
	return "", ""
}

// What people give in place of bills is called by its name (bugs B5, B14, B21, B65).
func TestStrangersAreNamed(t *testing.T) {
	t.Parallel()
	wechat := "微信支付账单明细,,,,,,,,,,\n微信昵称：[某某],,,,,,,,,,\n----------------------微信支付账单明细列表--------------------,,,,,,,,,,\n" +
		"交易时间,交易类型,交易对方,商品,收/支,金额(元),支付方式,当前状态,交易单号,商户单号,备注\n2024-03-01 12:45:27,\"商户消费\",\"某店\",\"总共消费:28.16\",\"支出\",¥28.16,\"某行(1234)\",\"支付成功\",\"398\"\t,\"129\"\t,\"/\"\n"
	alipay := "-----------\n导出信息：\n姓名：某某\n支付宝账户：x@example.com\n------------------------支付宝（中国）网络技术有限公司  电子客户回单------------------------\n" +
		"交易时间            ,交易分类                ,交易对方                ,对方账号  ,商品说明                ,收/支                 ,金额  ,收/付款方式              ,交易状态    ,交易订单号     ,商家订单号           ,备注                  ,\n"
	for name, c := range map[string]struct{ content, named string }{
		"WeChat person":               {wechat, "a WeChat Pay export for a person"},
		"WeChat person, GBK":          {billtest.GB18030(t, wechat), "a WeChat Pay export for a person"},
		"WeChat person, header alone": {wechat[strings.Index(wechat, "交易时间"):], "a WeChat Pay export for a person"},
		"WeChat person 2026":          {"微信支付账单明细\n1.本账单中所有时间均为UTC+08:00时间\n交易时间\t交易类型\t交易对方\t商品\t收/支\t金额(元)\t支付方式\t当前状态\t交易单号\t商户单号\t备注\n", "a WeChat Pay export for a person"},
		"Alipay person":               {billtest.GB18030(t, alipay), "an Alipay export for a person"},
		"Alipay person, of old":       {billtest.GB18030(t, "支付宝交易记录明细查询\r\n账号:[x]\r\n"), "an Alipay export for a person"},
		"JD":                          {"\uFEFF导出信息：\n京东账号名：jd_x\n", "a JD export for a person"},
		"JD, header alone":            {"交易时间,商户名称,交易说明,金额,收/付款方式,交易状态,收/支,交易分类,交易订单号,商家订单号,备注\n", "a JD export for a person"},
		"Meituan":                     {"\uFEFF美团交易账单明细\r\n美团用户名：[x]\r\n", "a Meituan export for a person"},
		"BOC":                         {"中国银行交易流水明细单\n记账日期,记账时间,币别,金额,余额\n", "a list that the Bank of China (中国银行) exports"},
		"BOCOM":                       {"序号,交易日期,交易时间,交易类型,借贷,交易金额,余额,对方账号,对方户名,交易地点,摘要\n", "Bank of Communications"},
		"CMB":                         {"记账日期,货币,交易金额,联机余额,交易摘要,对手信息,客户摘要\n", "China Merchants Bank"},
		"CMB credit card":             {"招商银行信用卡对账单（个人 2024年01月）\n交易日,记账日,交易摘要,人民币金额,卡号末四位,交易地金额\n", "China Merchants Bank"},
		"ICBC":                        {"明细查询文件下载\n\n卡号: 1234****9876,\"卡别名: \"\n", "Industrial and Commercial Bank"},
		"HSBC":                        {"Date,Description,Billing amount,Billing currency,Balance,Balance currency\n24/03/2025,X,\"-1.00\"\t,HKD,\"2.00\"\t,HKD\n", "HSBC Hong Kong"},
		"securities":                  {billtest.GB18030(t, "=\"交收日期\"\t=\"成交时间\"\t=\"业务名称\"\t=\"证券代码\"\t=\"清算金额\"\t\r\n=\"20230212\"\t=\"00:00:00\"\t=\"x\"\t\t1\t\r\n"), "a list of a securities account"},
		"another bank":                {"账户明细\n交易日期,摘要,借方发生额,贷方发生额,账户余额,对方户名\n", "a list that a Chinese bank exports"},
		"web page":                    {"\r\n<!DOCTYPE HTML><html><head><title>Sign in &amp; go\n on</title></head>", `a web page (title "Sign in & go on")`},
		"web page, no title":          {"<html lang=en>", "a web page"},
		"a part of one":               {"<table border=1><tr><td>1", "a web page"},
		"XHTML":                       {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><title>x</title>`, `a web page (title "x")`},
		"Excel as a page":             {`<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table>`, "a workbook that Excel saved as XML"},
		"Excel as XML":                {"<?xml version=\"1.0\"?>\n<?mso-application progid=\"Excel.Sheet\"?>\n<Workbook>", "a workbook that Excel saved as XML"},
		"S3":                          {`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>`, `an error document in XML (code "AccessDenied", message "Request has expired")`},
		"WeChat v2":                   {"<xml><return_code><![CDATA[FAIL]]></return_code>\n<return_msg><![CDATA[签名错误]]></return_msg></xml>", `(code "FAIL", message "签名错误")`},
		"SOAP":                        {`<s:Envelope><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring>`, `code "s:Client", message "no"`},
		"WeChat v3":                   {`{"code":"PARAM_ERROR","message":"参数错误"}`, `an error document in JSON (code "PARAM_ERROR", message "参数错误")`},
		"Alipay":                      {`{"alipay_x_response":{"code":"40004","msg":"Business Failed","sub_code":"isv.INVALID","sub_msg":"入参不合法"},"sign":"x"}`, `(code "isv.INVALID", message "入参不合法")`},
		"Stripe":                      {`{"error":{"type":"invalid_request_error","message":"No such report"}}`, `(code "invalid_request_error", message "No such report")`},
		"PayPal":                      {`{"name":"NOT_FOUND","message":"no","details":[{"issue":"x"}]}`, `(code "NOT_FOUND", message "no")`},
		"Razorpay":                    {`{"error":{"code":"BAD_REQUEST_ERROR","description":"no"}}`, `(code "BAD_REQUEST_ERROR", message "no")`},
		"Square":                      {`{"errors":[{"category":"X","code":"UNAUTHORIZED","detail":"no"}]}`, `(code "UNAUTHORIZED", message "no")`},
		"Adyen":                       {`{"status":401,"errorCode":"000","message":"no","errorType":"security"}`, `(code "000", message "no")`},
		"Mercado Pago":                {`{"message":"no","error":"bad_request","status":400,"cause":[]}`, `(code "bad_request", message "no")`},
		"a server":                    {`{"timestamp":1,"status":500,"error":"Internal Server Error","path":"/x"}`, `(code "500", message "Internal Server Error")`},
		"xls":                         {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\x00", "an old Excel workbook"},
		"xlsx":                        {"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml \x00", "an Excel workbook (xlsx)"},
		"PDF":                         {"%PDF-1.7\n%\xe2\xe3", "a PDF document"},
		"OFX 1":                       {"OFXHEADER:100\nDATA:OFXSGML\n", "an OFX or QFX statement"},
		"OFX 2":                       {`<?xml version="1.0"?><?OFX OFXHEADER="200"?><OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0</CODE>`, "an OFX or QFX statement"},
		"QIF":                         {"!Type:Bank\nD1/2/2024\nT-1.00\n^\n", "a QIF statement"},
		"BAI2":                        {"01,122099999,123456789,240301,0200,1,,,2/\n02,031001234,122099999,1,240229,2359,,2/\n", "a BAI2 statement"},
		"TSV for Excel":               {"=\"a\"\t=\"b\"\tc\n", "made for Excel"},
		"TSV":                         {"a\tb\tc\n1\t2\t3\n4\t5\t6\n", "a tab-separated list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			named, advice := first(c.content)
			require.Contains(t, named, c.named)
			require.NotEmpty(t, advice)
		})
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("中国银行交易流水明细单\n")
	require.NoError(t, err)
	named, _ := first(utf16)
	require.Contains(t, named, "Bank of China")
}

// No stranger fits the beginning of a bill of any format, nor a list of unknown columns, which is refused by default.
func TestStrangersLeaveBillsAlone(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"WeChat trade":       "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额\n`2024-03-01 09:00:00,`wxA\n",
		"WeChat fund flow":   "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号\n",
		"Alipay trade":       "#支付宝业务明细查询\n支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,订单金额（元）,商家实收（元）\n",
		"Alipay account":     "#支付宝账务明细查询\n账务流水号,业务流水号,商户订单号,商品名称,发生时间,对方账号,收入金额（+元）,支出金额（-元）,账户余额（元）,交易渠道,业务类型,备注\n",
		"Alipay summary":     "#支付宝账务汇总查询\n类型,收入笔数,收入金额（+元）,支出笔数,支出金额（-元）,总金额（元）\n",
		"UnionPay":           "S22 00010000    00010000    123456 0816093015 6212340000000000001 000000010000\n",
		"Stripe":             "balance_transaction_id,created,available_on,currency,gross,fee,net,reporting_category,source_id,description\ntxn_1,2024-03-01 00:00:00,2024-03-03 00:00:00,usd,10.00,0.59,9.41,charge,ch_1,x\n",
		"Stripe API":         `{"object":"list","has_more":false,"url":"/v1/balance_transactions","data":[{"id":"txn_1","object":"balance_transaction","amount":-9164,"type":"payout","status":"available","description":"STRIPE PAYOUT"}]}`,
		"Adyen":              "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference,Gross Currency\n",
		"Adyen, tabs":        "Company Account\tMerchant Account\tPsp Reference\nA\tB\t1\nA\tB\t2\n",
		"PayPal":             "\"RH\",\"2024/03/02 00:00:00 -0800\",\"A\",\"X\",011,\n\"FH\",1\n\"SH\",\"2024/03/01 00:00:00 -0800\",\"2024/03/01 23:59:59 -0800\",\"X\",\"\"\n\"CH\",\"Transaction ID\",\"Invoice ID\"\n",
		"PayPal activity":    "\"Date\",\"Time\",\"Time Zone\",\"Description\",\"Currency\",\"Gross\",\"Fee\",\"Net\",\"Balance\",\"Transaction ID\"\n",
		"MT940":              ":20:X\n:25:0001234567\n:28C:1\n:60F:C240301EUR0,00\n:61:240301D25,03NTRFNONREF\n",
		"MT940, framed":      "{1:F01XXXXNL2AXXXX0000000000}{2:I940XXXXNL2AXN}{4:\n:20:X\n",
		"camt.053":           `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><GrpHdr><MsgId>x</MsgId><Message>x</Message><Code>x</Code>`,
		"camt.053, prefixed": `<ns:Document xmlns:ns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><ns:BkToCstmrStmt>`,
		"Mercado Pago":       "EXTERNAL_REFERENCE;SOURCE_ID;USER_ID;PAYMENT_METHOD_TYPE;PAYMENT_METHOD;SITE;TRANSACTION_TYPE;TRANSACTION_AMOUNT\n;1;2;available_money;x;MLA;SETTLEMENT;1.00\n",
		"Razorpay":           `{"entity":"collection","count":1,"items":[{"entity_id":"pay_1","type":"payment","debit":0,"credit":97100,"description":"x"}]}`,
		"Razorpay payment":   `{"id":"pay_1","entity":"payment","amount":100,"status":"captured","description":"a cup","error_code":null,"error_description":null}`,
		"Square":             `{"payout_entries":[{"id":"poe_1","payout_id":"po_1","type":"CHARGE","gross_amount_money":{"amount":15000,"currency":"USD"}}]}`,
		"Braintree":          `[{"id":"x","type":"CHARGEBACK","status":"LOST"}]`,
		"Braintree, lines":   "{\"id\":\"x\",\"type\":\"REFUND\",\"status\":\"LOST\"}\n{\"id\":\"y\"}\n",
		"unknown columns":    "order,amount,state\n1,2.00,PAID\n",
		"two columns, tabs":  "a\tb\n1\t2\n3\t4\n",
		"uneven tabs":        "a\tb\tc\n1\t2\n",
		"a zip":              "PK\x03\x04\x14\x00x.csv",
		"nothing":            "", "a brace": "{", "an angle": "<", "NUL": "\x00\x00",
	} {
		named, _ := first(content)
		require.Empty(t, named, name)
	}
	require.Empty(t, consumer.Formats())
}

func FuzzStrangers(f *testing.F) {
	for _, seed := range []string{
		"{\"errors\":[{\"code\":1,\"detail\":\"x\"}]}", "<Error><Code><![CDATA[x]]></Code>", "<title>&#x41;", "01,1,2,240301,0200,1,,,2/\n", "=\"a\"\t=\"b\"\tc\n1\t2\t3\n4\t5\t6",
		"交易日期,余额,交易金额", "\xFF\xFE-N", "\xEF\xBB\xBF", "PK\x03\x04",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		h := bill.NewHead(content[:min(len(content), 64<<10)])
		for _, s := range consumer.Strangers() {
			if s.Fits(h) && s.Named(h) == "" {
				t.Fatal("a stranger without a name")
			}
		}
	})
}

func BenchmarkStrangers(b *testing.B) {
	h := bill.NewHead([]byte("交易日期,a,b,c\n" + strings.Repeat("交易日期,记账日期,余额,交易金额2,交易类型3,Date,证券代码,交易时间x,"+strings.Repeat("某某,", 50)+"\n", 200)))
	for b.Loop() {
		for _, s := range consumer.Strangers() {
			_ = s.Fits(h)
		}
	}
}

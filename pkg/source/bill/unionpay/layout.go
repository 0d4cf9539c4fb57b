package unionpay

// layout is how the lines of a file are cut.
type layout struct {
	widths []int // of fields, in bytes
	begin  []int // where they begin
	bytes  int   // of a line
}

func newLayout(widths ...int) layout {
	l := layout{widths: widths, bytes: -1}
	for _, w := range widths {
		l.begin = append(l.begin, l.bytes+1)
		l.bytes += w + 1
	}
	return l
}

// end is where the field ends, and the blank after it stands.
func (l layout) end(field int) int { return l.begin[field] + l.widths[field] }

// cut is a field of a line that is long enough.
func (l layout) cut(line []byte, field int) []byte { return line[l.begin[field]:l.end(field)] }

// Fields of ZM, counted from 0. Older files have one reserved field in place of the last two, of the same length.
const (
	zmCode        = 0  // 交易代码
	zmTrace       = 3  // 系统跟踪号
	zmTime        = 4  // 交易传输时间
	zmAmount      = 6  // 交易金额
	zmQuery       = 9  // 查询流水号
	zmOrder       = 11 // 商户订单号
	zmFee         = 15 // 商户手续费
	zmSettle      = 16 // 结算金额
	zmMethod      = 17 // 支付方式
	zmType        = 19 // 交易类型
	zmBusiness    = 21 // 业务类型
	zmOrigQuery   = 26 // 原交易查询流水号
	zmMerchant    = 27 // 商户代码
	zmSubMerchant = 29 // 二级商户代码
	zmNet         = 32 // 清算净额
	zmDiscount    = 35 // 优惠金额
	zmOrigOrder   = 40 // 原始交易订单号
)

var zm = newLayout(3, 11, 11, 6, 10, 19, 12, 4, 2, 21, 2, 32, 2, 6, 10, 13, 13, 4, 15, 2, 2, 6, 2, 4, 32, 1, 21, 15, 1, 15, 32,
	13, 13, 8, 32, 13, 13, 12, 2, 1, 32, 98)

// Fields of ZME, counted from 0.
const (
	zmeCode      = 0
	zmeTrace     = 3
	zmeTime      = 4
	zmeAmount    = 6
	zmeOrigTrace = 10 // 原始交易的系统跟踪号
	zmeOrigTime  = 11 // 原始交易日期时间
	zmeReason    = 12 // 差错原因码
	zmeFee       = 14 // 商户手续费
	zmeSettle    = 15 // 结算金额
	zmeMerchant  = 16 // 商户代码
)

var zme = newLayout(3, 11, 11, 6, 10, 19, 12, 4, 2, 2, 6, 10, 4, 12, 13, 13, 15, 15, 1, 12, 2, 135)
